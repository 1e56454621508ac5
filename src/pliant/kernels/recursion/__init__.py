"""The passes over the table of steps: forward, backward, derivatives, composite bodies, Jacobians."""
