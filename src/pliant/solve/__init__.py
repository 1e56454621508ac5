"""Solvers: statics and time integration on the one residual and its exact tangent."""
