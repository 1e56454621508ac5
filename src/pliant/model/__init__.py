"""What a user describes: sections, materials, rods, bodies, joints and the robot."""
