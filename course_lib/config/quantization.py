"""The kinds of numbers that weights are rounded to."""

__all__ = ["LARGEST"]

#: The largest number of each kind, which the largest weight of a group becomes.
LARGEST = {"int8": 127, "int4": 7, "e4m3": 448}
