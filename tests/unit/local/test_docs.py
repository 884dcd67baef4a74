"""The page on joins in one process prints what it says, and the example joins what clients send."""

import io
import json
import runpy
import socket
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.spark.test_docs import run

EXAMPLE = Path(__file__).parents[3] / "examples" / "socket_join.py"


def test_the_page_prints_what_it_says() -> None:
    run("docs/local.md")


def test_the_example_joins_what_clients_send() -> None:
    example: dict[str, Any] = runpy.run_path(str(EXAMPLE))
    found: list[pa.RecordBatch] = []
    with (
        example["make_join"](found.append) as join,
        example["serve"](0, join.push_left) as left,
        example["serve"](0, join.push_right) as right,
    ):
        for server, row in (
            (left, {"ts": "2026-01-05T09:30:00", "price": 20.1}),
            (right, {"ts": "2026-01-05T09:30:01", "ask": 20.5}),
        ):
            with socket.create_connection(server.server_address) as client:
                client.sendall(json.dumps(row).encode() + b"\n")
        deadline = time.monotonic() + 10
        while not found and time.monotonic() < deadline:
            time.sleep(0.01)
        left.shutdown()
        right.shutdown()
    with redirect_stdout(io.StringIO()) as printed:
        example["show"](found[0])
    assert json.loads(printed.getvalue())["ask"] == 20.5
