"""Load and use a segment file of 100 MB by memory map, beside a plain read of the same file from the page cache."""

import mmap
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa

from benchmarks.bench import measure, report
from streamjoin.pane import KeyColumn, Rows, Segment, write_whole

ROWS = 2_000_000
PROBES = 10_000


def map_file(path: Path, *, verify: bool = True) -> Segment:
    """The segment in a file, mapped into memory."""
    with path.open("rb") as file:
        return Segment.from_bytes(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), "l1", verify=verify)


def main() -> None:
    """Time opening, verifying, first use."""
    rng = np.random.default_rng(1)
    number = rng.permutation(ROWS)
    payload = pa.record_batch({"id": number, "word": pa.array(["word"] * ROWS)})
    rows = Rows(np.arange(ROWS), (KeyColumn(number), KeyColumn(rng.random(ROWS))), payload)
    at = rng.integers(0, ROWS, PROBES)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "l1.segment"
        write_whole(path, Segment("l1", rows, {"order": np.argsort(number)}).pack())

        def use(segment: Segment) -> float:
            """Look up an index array at random, read one column."""
            return float(segment.index["order"][at].sum() + segment.rows.keys[1].values.sum())

        contestants = {
            "read the file": path.read_bytes,
            "open, verify": lambda: map_file(path),
            "open": lambda: map_file(path, verify=False),
            f"open, {PROBES:,} index entries, one column": lambda: use(map_file(path, verify=False)),
            f"open, verify, {PROBES:,} index entries, one column": lambda: use(map_file(path)),
        }
        assert len({use(segment) for segment in (map_file(path), Segment.from_bytes(path.read_bytes(), "l1"))}) == 1
        seconds = measure(contestants, 15)
        size = path.stat().st_size
    report(
        "micro-segment-load",
        f"A segment file of {size / 1e6:.0f} MB in the page cache, {ROWS:,} rows: milliseconds to have it in hand.",
        ["", "ms", "x reading the file"],
        [[name, s * 1e3, seconds["read the file"] / s] for name, s in seconds.items()],
    )


if __name__ == "__main__":
    main()
