"""Clearance from obstacles and other rods, and normal forces of contacts."""
