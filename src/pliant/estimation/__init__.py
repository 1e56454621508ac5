"""What sensors tell of state, loads and parameters: filters on the exact maps of steps."""
