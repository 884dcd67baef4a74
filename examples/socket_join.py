"""Join lines of JSON that arrive on two TCP ports, and print matches as they are found.

python examples/socket_join.py 9001 9002
echo '{"ts": "2026-01-05T09:30:00", "price": 20.1}' | nc -N localhost 9001
echo '{"ts": "2026-01-05T09:30:01", "ask": 20.5}' | nc -N localhost 9002
"""

import json
import socketserver
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pyarrow as pa

import streamjoin as sj


def make_join(callback: Callable[[pa.RecordBatch], None]) -> sj.LocalJoin:
    """Quotes within half a unit of a trade, and within five seconds of it."""
    return sj.LocalJoin(
        on="abs(l.price - r.ask) <= 0.5",
        window=sj.within("5 seconds"),
        time="ts",
        delay="1 second",
        left=pa.schema([("ts", pa.timestamp("us")), ("price", pa.float64())]),
        right=pa.schema([("ts", pa.timestamp("us")), ("ask", pa.float64())]),
        callback=callback,
    )


def serve(port: int, push: Callable[[dict[str, Any]], None]) -> socketserver.ThreadingTCPServer:
    """Push every line that any client sends to a port; port 0 is any free one."""

    class Lines(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                row = json.loads(line)
                push({**row, "ts": datetime.fromisoformat(row["ts"])})

    socketserver.ThreadingTCPServer.allow_reuse_address = True
    server = socketserver.ThreadingTCPServer(("localhost", port), Lines)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def show(batch: pa.RecordBatch) -> None:
    for row in batch.to_pylist():
        print(json.dumps(row, default=str), flush=True)


def main(left: int, right: int) -> None:
    with make_join(show) as join, serve(left, join.push_left), serve(right, join.push_right):
        threading.Event().wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
