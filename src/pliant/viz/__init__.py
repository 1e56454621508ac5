"""Pictures of robots and their motion: plots, videos and viewers."""
