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

from streamjoin.layout.base import check_whole_number


@dataclass(frozen=True)
class Handshake:
    """A chain of n workers that hand rows on to each other; for `LocalJoin`, inner joins (`local.chain`, `local.node`).

    >>> Handshake(4).n
    4
    """

    n: int

    def __post_init__(self) -> None:
        check_whole_number("Handshake(n)", self.n)

    @property
    def cells(self) -> int:
        """All of them alike."""
        return self.n

    def __str__(self) -> str:
        return f"Handshake({self.n})"

    @property
    def why_not_on_spark(self) -> str:
        """What `join` says to who asks for it there."""
        return (
            f"layout: in Handshake({self.n}) rows move from worker to worker as others arrive, and Spark's tasks "
            "cannot talk to each other. It is for joins within one process. On Spark take Grid(m, n), which compares "
            "the same pairs in parallel, or Scale(n), which stores each row once as the handshake does"
        )
