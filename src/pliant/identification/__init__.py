"""Parameters of a robot from measurements."""
