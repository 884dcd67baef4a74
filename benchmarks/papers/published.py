"""What the papers published: values that follow from formulae have their home in the model's tests; the rest is here.

Shapes stand for curves whose values are in figures only. Rates of ScaleJoin are of both streams together.
"""

from tests.unit.model.figures import CELL_JOIN, DP_JOIN, HIT_RATE, SCALE_JOIN_RATES, TABLE_4_1

__all__ = ["CELL_JOIN", "DP_JOIN", "HIT_RATE", "SCALE_JOIN_RATES", "TABLE_4_1"]

SCALE = {"cores": 48, "spread": 4.0, "latency ms": 70.0, "gate rows/s": 150_000.0, "comparisons/s": 4e9}
FIGURE_8 = {"constant": ((1, 4), 10, 0.05, (1200, 900)), "sine": ((3, 2), 12, 0.1, (850, 850)),
            "peaks": ((4, 2), 14, 0.1, (850, 850))}  # fmt: skip
"""Rates: physical streams of each side, threads, the spread of their comparisons in percent, rows/s of each side.

Rates are stated for constant ones. 850 gives what is said of the sines: 18.5 to 55 million comparisons/s a thread.
"""

CELL = {"cores": 9, "SIMD to scalar": 10.0, "lost beside the best %": 10.0, "flat from bytes": 128, "rate": 1000.0}
HANDSHAKE = {"SIMD to scalar": 2.0, "rate on 8 cores": 1400.0, "cores": 8}
DP_TABLE_1 = {6: {"2x3": 9301, "1x6": 8529}, 9: {"3x3": 14047, "1x9": 13599},
              16: {"4x4": 21740, "2x8": 21700, "1x16": 21659}}  # fmt: skip
DP_LATENCY = {"square": 0.95, "linear": 2.42, "rate": 2500, "window": 300, "Handshake": 1e4, "cores": 16}
DP_ASYMMETRIC = {"left": 1000, "right": 3000, "window": 300, "3x5": 0.26, "4x4": 0.30}
