"""The command ``pliant``."""

from .main import main

__all__ = ["main"]
