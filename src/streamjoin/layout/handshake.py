"""Handshake join: streams that flow past each other (sections 3 and 4).

Left rows enter a chain of workers at one end and right rows at the other; where they meet they are compared, and what
is behind them has been compared:

           +---+    +---+    +---+    +---+
      l -> | 0 | -> | 1 | -> | 2 | -> | 3 |
           |   | <- |   | <- |   | <- |   | <- r
           +---+    +---+    +---+    +---+

A row's place is thus a matter of what has come since, not of the row; neighbours talk to each other all the time.
"""

from dataclasses import dataclass

from streamjoin.layout.base import whole_number


@dataclass(frozen=True)
class Handshake:
    """A chain of n workers that hand rows on to each other; for the in-process runtime."""

    n: int

    def __post_init__(self) -> None:
        whole_number("Handshake(n)", self.n)
