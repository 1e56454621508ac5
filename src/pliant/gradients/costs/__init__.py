"""Costs as sums of terms: a quantity (a vector for each state), a penalty, and when it counts; public as `pliant.costs`.

`states` holds what a motion hands over, `quantity` what all quantities share; then a module for each kind of quantity. `times`,
`penalties` and `cost` make numbers of them, `goals` has the terms with names of their own.
"""
