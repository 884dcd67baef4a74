"""Rows/s through the gate at 1 to 8 sources and readers, a thread each, in blocks of 1,000 (as ScaleJoin, Fig. 7a).

python benchmarks/local/gate.py [--rows 2000000] [--block 1000]
"""

import argparse
import threading
import time

import numpy as np
import pyarrow as pa

from streamjoin.local.gate import Gate


def measure(sources: int, readers: int, rows: int, block: int) -> float:
    gate = Gate("ts", range(sources), readers)
    each = rows // sources // block * block
    blocks = {
        source: [pa.record_batch({"ts": start + np.arange(block)}) for start in range(0, each, block)]
        for source in range(sources)
    }

    def add(source: int) -> None:
        for one in blocks[source]:
            gate.add(source, one)
        gate.leave(source)

    def read(reader: int) -> None:
        seen = 0
        while seen < each * sources:
            found = gate.ready(reader, timeout=1)
            seen += 0 if found is None else found.num_rows

    threads = [threading.Thread(target=add, args=(source,)) for source in range(sources)]
    threads += [threading.Thread(target=read, args=(reader,)) for reader in range(readers)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return each * sources / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--block", type=int, default=1000)
    given = parser.parse_args()
    counts = (1, 2, 4, 8)
    print("rows/s   " + "".join(f"{readers:>14} readers" for readers in counts))
    for sources in counts:
        rates = [measure(sources, readers, given.rows, given.block) for readers in counts]
        print(f"{sources} sources" + "".join(f"{rate:>22,.0f}" for rate in rates))


if __name__ == "__main__":
    main()
