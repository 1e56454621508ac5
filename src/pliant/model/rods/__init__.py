"""What a rod is: strains and their bases, sections, materials, the points along it."""
