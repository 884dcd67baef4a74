"""Kernels: arrays in, index pairs out. They know nothing of predicates, windows or streams.

Every condition that an index can serve comes down to intervals. A *dimension* is a column of the stored rows, as
`codes`: integers in the order of the values. A probe row asks for an interval on each dimension, and a stored row is a
candidate when it lies in all of them:

- `nested` looks at every row, on two dimensions at a time, at the speed of the vector unit;
- `buckets` looks only at the buckets (or the slots of a hash table) that the intervals touch;
- `ordered` looks only at a range of the sorted rows;
- `refine` keeps the candidates that lie in the intervals of one more dimension.

All of them write at most as many pairs as their output holds and go on from a cursor, so that an explosion of matches
costs time, not memory.
"""
