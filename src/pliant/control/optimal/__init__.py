"""Optimal control on the steps of a rollout."""
