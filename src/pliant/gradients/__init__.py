"""Motions and equilibria that can be differentiated: rollouts, adjoints, costs."""
