"""Gradients: costs of motions and of equilibria with exact derivatives, and what carries them back to inputs and parameters."""
