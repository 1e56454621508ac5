"""Compiled algorithms on flat tables; they know nothing of the classes that users see."""
