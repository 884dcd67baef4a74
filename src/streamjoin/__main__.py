"""``python -m streamjoin``: a small join, told step by step.

Trades meet quotes in a price band while the streams arrive out of order. The rows come from `reference.join`, the
law executed literally.
"""

from streamjoin import within
from streamjoin.predicate import Schema, parse
from streamjoin.reference import Batch, Joined, join

SECOND = 1_000_000
TRADES = Schema({"ts": "bigint", "sym": "string", "price": "double"})
QUOTES = Schema({"ts": "bigint", "sym": "string", "ask": "double"})
ON = "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5"
WINDOW = within("5 seconds")

BATCHES = [
    Batch(
        left=[
            {"ts": 10 * SECOND, "sym": "ACME", "price": 20.1},
            {"ts": 12 * SECOND, "sym": "ACME", "price": 21.9},
            {"ts": 14 * SECOND, "sym": "BETA", "price": 23.0},
        ],
        right=[{"ts": 11 * SECOND, "sym": "ACME", "ask": 20.5}, {"ts": 8 * SECOND, "sym": "BETA", "ask": 20.2}],
    ),
    Batch(
        left=[{"ts": 9 * SECOND, "sym": "BETA", "price": 20.0}, {"ts": 1 * SECOND, "sym": "ACME", "price": 20.0}],
        right=[{"ts": 16 * SECOND, "sym": "ACME", "ask": 22.0}, {"ts": 15 * SECOND, "sym": "ACME", "ask": None}],
        watermark=8 * SECOND,
    ),
]


def main() -> None:
    """Join the example and print what came of it."""
    predicate = parse(ON, TRADES, QUOTES)
    print(f"trades (l) x quotes (r), {WINDOW}\n\n{predicate}\n")
    for how in ("inner", "left"):
        result = join(BATCHES, predicate, WINDOW, how, ordered=True)
        print(f"how={how!r}: {len(result.rows)} rows, {result.late_left + result.late_right} late row dropped")
        print("  join_time  trade            quote")
        for row in result.rows:
            print(f"  {row.join_time // SECOND:>7} s  {_trade(row):<15}  {_quote(row)}")
        print()


def _trade(joined: Joined) -> str:
    row = joined.left
    return f"{row['sym']} {row['price']} @{row['ts'] // SECOND}" if row else "-"


def _quote(joined: Joined) -> str:
    row = joined.right
    return f"{row['sym']} {row['ask']} @{row['ts'] // SECOND}" if row else "-"


if __name__ == "__main__":
    main()
