"""Numbers, vectors and groups: SE(3) as SO(3) over dual numbers, its exponential, manifolds of joints, small dense solves."""
