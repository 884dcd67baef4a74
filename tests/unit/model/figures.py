"""The papers' numbers that follow from formulae, copied from their text; `DERIVED` ones are computed, not printed."""

# Thesis, Table 4.1: p = 3.6e-6, equal windows. The errors are cut off, not rounded, after two digits.
TABLE_4_1 = [  # window s, rate R, rate S, seconds, predicted, actual, error in percent
    (300, 400, 400, 900, 259200, 259595, 0.15),
    (300, 600, 600, 900, 583200, 583775, 0.09),
    (300, 800, 800, 900, 1036800, 1037995, 0.11),
    (300, 1000, 1000, 1200, 2268000, 2275781, 0.34),
    (300, 2000, 2000, 900, 6480000, 6492230, 0.18),
    (300, 800, 1200, 900, 1555200, 1558455, 0.20),
    (300, 800, 1600, 900, 2073600, 2077731, 0.19),
    (300, 800, 2000, 900, 2592000, 2598837, 0.26),
    (300, 200, 800, 900, 259200, 259799, 0.23),
    (600, 1000, 1000, 1200, 3888000, 3899042, 0.28),
    (600, 1500, 1500, 1200, 8748000, 8766142, 0.20),
    (600, 2000, 2000, 1200, 15552000, 15578172, 0.16),
]
HIT_RATE = 3.6e-6

# Of the papers' predicate on 1 .. 10,000: closed bands on whole and real numbers; open ones on whole numbers.
DERIVED_HIT_RATES = {"closed, whole and real": 4.1961e-6, "open, whole and whole": 3.6066e-6}

# Thesis, tables 3.7 to 3.10. Per T_A: n buffered, T buffered, T streaming at that n, n streaming, T streaming there.
# Times are cut off after two digits.
TABLES_3 = {
    "map": {1e3: (1681, 9.6e6, 9.6e6, 1681, 9.6e6), 1e6: (484, 3.8e7, 3.5e7, 529, 3.5e7)},
    "stencil": {1e3: (26569, 9.3e5, 7.7e5, 34596, 7.6e5), 1e6: (529, 3.5e7, 3.5e7, 529, 3.5e7)},
    "replicated map": {1e3: (252, 5.1e7, None, 130, 7.9e7), 1e6: (76, 1.6e8, 1.6e8, 76, 1.6e8)},
    "replicated stencil": {1e3: (252, 5.1e7, 2.5e7, 2509, 5.1e6), 1e6: (76, 1.6e8, 1.6e8, 76, 1.6e8)},
}
SEQUENTIAL = 6.4e9
# Where the tables differ from their own formulae: n streaming, by form and T_A; and the entry left out.
DERIVED_DEGREES = {("replicated map", 1e3): 132, ("replicated map", 1e6): 80, ("replicated stencil", 1e6): 80}
DERIVED_LEFT_OUT = 1.14e8

# DP-Join 5.2.1, Table 1 and 5.3
DP_JOIN = {"rate": 2100, "window": 300, "p": 3.6e-6, "most": 9525.6, "two workers": 3100, "four workers": 6200}
OPTIMAL_DEGREES = {"linear": 7, "rectangular": 8, "square": 9}
TABLE_1 = {6: (9301, 8529), 9: (14047, 13599), 16: (21740, 21700, 21659)}

# ScaleJoin II and VI. The rates of VI are of both streams together; comparisons are "approximately" these.
SCALE_JOIN = {"window": 600, "rate": 500, "comparisons": 3e8}
SCALE_JOIN_RATES = [  # window s, rows/s in all, comparisons/s: three on System 1, three on System 2
    (300, 5100, 4e9),
    (600, 3500, 4e9),
    (900, 3000, 4e9),
    (300, 3000, 1.4e9),
    (600, 2100, 1.4e9),
    (900, 1750, 1.4e9),
]

# CellJoin 8.2.1, and Figure 5 for Eq. 2; 13.4 is 14.4e9 / 2^30
CELL_JOIN = {"rate": 1000, "window": 900, "bytes": 8, "GB/s": 13.4}
EQUATION_2 = {"workers": 4, "six": [2, 2, 1, 1], "one more": [2, 2, 2, 1], "one less": [2, 2, 1, 1]}
CELL_DEFAULTS = {"rate": 500, "window": 900, "block": 4, "blocks": 256, "basic window": 8192}

# benchmarks/results/spark-layouts.md, ours: 60 s windows, micro-batches of 10 s, the papers' condition.
HELD = {  # rows sent for each input row, copies held for each row in the window
    "Grid(1, 1)": (1, 1.17),
    "Grid(1, 2)": (1.5, 1.75),
    "Scale(2)": (2, 1.17),
    "Cell(4)": (4, 1.17),
    "Keyed(4)": (1.06, 1.24),
    "Grid(2, 2)": (2, 2.33),
    "Keyed(16, spread=2)": (2.12, 2.48),
    "Grid(4, 4)": (4, 4.67),
    "Scale(16)": (16, 1.17),
}
