"""Laws of feedback by name, each with what it assumes."""
