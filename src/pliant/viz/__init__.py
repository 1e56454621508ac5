"""Pictures of robots and their motion: plots, videos, live pages, and files that play in any browser."""
