"""From a description to the tables of the kernels."""
