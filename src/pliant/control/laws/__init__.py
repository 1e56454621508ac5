"""Laws of feedback with a name, each with its assumption checked, and what is needed to make and tune them."""
