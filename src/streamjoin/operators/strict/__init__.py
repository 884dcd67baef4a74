"""Java's `StrictMath`, bit for bit: functions on doubles that C's library rounds differently in the last digit.

Java prescribes the algorithms of fdlibm (Sun, 1993) for them: which polynomial, which order of operations. These
modules say them anew, in plain Python that Numba compiles too. Comparisons with a number take the place of fdlibm's
with the high half of its bits; the limits are the same.
"""
