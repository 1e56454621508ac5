"""What acts on the robot: one file per family of loads, each with forces, derivatives and energy."""
