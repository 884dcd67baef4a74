"""The server shows the page, its state and Prometheus' metrics to those who may see them."""

import json
import re
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.report.history import History, Plan
from streamjoin.report.server import COOKIE, Server
from tests.unit.report.reports import make_report


@pytest.fixture
def kept() -> History:
    history = History()
    history.add(make_report(0))
    history.add(make_report(1, second=1))
    return history


@pytest.fixture
def served(kept: History) -> Iterator[Server]:
    server = Server(kept, {"0123": Plan("the plan", 5, None)}.get, "127.0.0.1", 0)
    yield server
    server.close()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection(
        "127.0.0.1", int(server.url.partition("?")[0].rstrip("/").rpartition(":")[2]), timeout=60
    )
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def test_the_page_needs_nothing_from_elsewhere(served: Server) -> None:
    answer, body = ask(served, "/")
    assert answer.status == 200
    assert "//" not in body.replace("<!doctype html>", "")  # no other host
    for path in ("/page.css", "/page.js", "/plotly.js"):
        answer, _ = ask(served, path)
        assert answer.status == 200, path
    assert "default-src 'self'" in (answer.getheader("Content-Security-Policy") or "")


def test_the_state_tells_what_is_new_and_the_plan(served: Server) -> None:
    state = json.loads(ask(served, "/state")[1])
    assert [sample["batch"] for sample in state["queries"][0]["samples"]] == [0, 1]
    assert state["plans"] == {"0123": {"text": "the plan", "delay_left": 5, "delay_right": None}}
    later = json.loads(ask(served, f"/state?since={state['sequence']}")[1])
    assert later["queries"][0]["samples"] == []


def test_prometheus_gets_counters_and_gauges(served: Server) -> None:
    answer, body = ask(served, "/metrics")
    assert answer.getheader("Content-Type", "").startswith("text/plain; version=0.0.4")
    lines = body.splitlines()
    assert 'streamjoin_rows_left_total{join="streamjoin",query="near"} 8.0' in lines
    assert 'streamjoin_state_rows{join="streamjoin",query="near"} 9.0' in lines
    assert 'streamjoin_loads{cell="0",join="streamjoin",query="near"} 3.0' in lines
    assert "# TYPE streamjoin_matches_total counter" in lines or "# TYPE streamjoin_matches counter" in lines


def test_other_requests_are_refused(served: Server) -> None:
    assert ask(served, "/elsewhere")[0].status == 404
    assert ask(served, "/", "POST")[0].status == 405
    assert ask(served, "/state?since=x")[0].status == 200
    assert ask(served, "/", Host="evil.example")[0].status == 403
    assert ask(served, "/", Host="localhost:1")[0].status == 200


def test_beyond_loopback_a_token_is_needed(kept: History) -> None:
    server = Server(kept, {}.get, "0.0.0.0", 0)
    try:
        assert server.token
        assert server.token in server.url
        assert ask(server, "/state")[0].status == 401
        assert ask(server, "/state?token=wrong")[0].status == 401
        answer, _ = ask(server, f"/state?token={server.token}")
        assert answer.status == 200
        assert (answer.getheader("Set-Cookie") or "").startswith(f"{COOKIE}={server.token}; HttpOnly")
        assert ask(server, "/state", Cookie=f"{COOKIE}={server.token}")[0].status == 200
        assert ask(server, "/metrics", Authorization=f"Bearer {server.token}")[0].status == 200
        assert ask(server, "/metrics", Authorization="Bearer é".encode().decode("latin1"))[0].status == 401
    finally:
        server.close()


def test_a_port_that_is_taken_is_named(served: Server) -> None:
    port = int(served.url.rstrip("/").rpartition(":")[2])
    with pytest.raises(StreamJoinError, match=f"port: cannot listen on 127.0.0.1:{port}: .*; port=0 takes a free one"):
        Server(History(), {}.get, "127.0.0.1", port)


def test_grafanas_dashboard_asks_for_metrics_that_are_served(served: Server) -> None:
    board = json.loads((Path(__file__).parents[3] / "docs" / "grafana.json").read_text())
    asked = {name for panel in board["panels"] for target in panel["targets"] for name in _names(target["expr"])}
    assert asked <= _names(ask(served, "/metrics")[1])
    assert asked


def _names(text: str) -> set[str]:
    return set(re.findall(r"streamjoin_\w+", text))
