"""Equations in the whole robot: residual, factors, elimination along the tree, constraints, Newton iterations."""
