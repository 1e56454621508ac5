"""One sweep from the tips to the base: derivatives of yᵀr with respect to all real tables of a robot."""
