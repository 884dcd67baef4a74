"""The dashboard's web server: one page, its state as JSON, and Prometheus' metrics.

On loopback it answers requests that name a loopback host, which keeps out pages of other sites. On another address
every request needs the token: in the URL once, then in a cookie, or as a bearer token.
"""

import json
import secrets
import socket
from collections.abc import Callable, Iterable
from functools import cache
from http.cookies import SimpleCookie
from importlib.resources import files
from ipaddress import ip_address
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from plotly.offline import get_plotlyjs
from waitress.server import create_server
from waitress.wasyncore import close_all

from streamjoin.errors import StreamJoinError
from streamjoin.report.history import History, Plan
from streamjoin.report.prometheus import CONTENT_TYPE, write_metrics

Environ = dict[str, Any]
Start = Callable[[str, list[tuple[str, str]]], Any]
Answer = tuple[str, str, bytes]
"""Status, content type, body."""

COOKIE = "streamjoin-token"
_ASSETS = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:"


MOST_BYTES = 64 << 20
"""Answers stay in memory, the 4 MB of the charts' library too: waitress leaves the files of larger ones open."""


class Server:
    """Serves a history until it is closed."""

    def __init__(self, history: History, find_plan: Callable[[str], Plan | None], host: str, port: int) -> None:
        self._history, self._find_plan, self._host = history, find_plan, host
        self.token = None if _is_loopback(host) else secrets.token_urlsafe(16)
        listening = _bind(host, port)
        self._port = listening.getsockname()[1]
        self._open: dict[int, Any] = {}
        """All that the server's loop watches; it ends when there is nothing left."""
        served = {"map": self._open, "sockets": [listening], "threads": 4, "ident": None, "outbuf_overflow": MOST_BYTES}
        self._server = create_server(self.answer, **served)
        self._thread = Thread(target=self._server.run, name="streamjoin-dashboard", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is, with the token if there is one."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/" + (f"?token={self.token}" if self.token else "")

    def close(self) -> None:
        """Stop listening, and end all threads."""
        self._server.trigger.pull_trigger(lambda: close_all(self._open))  # in the loop, which would trip otherwise
        self._thread.join()
        self._server.task_dispatcher.shutdown()

    def answer(self, environ: Environ, start: Start) -> Iterable[bytes]:
        """Answer a request (WSGI)."""
        asked = {name: values[-1] for name, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
        refused = self._refuse(environ, asked)
        status, kind, body = refused or self._find(environ["REQUEST_METHOD"], environ["PATH_INFO"], asked)
        headers = [
            ("Content-Type", f"{kind}; charset=utf-8" if ";" not in kind else kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "max-age=86400" if environ["PATH_INFO"] == "/plotly.js" else "no-store"),
        ]
        if self.token and not refused and "token" in asked:
            headers.append(("Set-Cookie", f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"))
        start(status, headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]

    def _find_plans(self) -> dict[str, Any]:
        found = {fingerprint: self._find_plan(fingerprint) for fingerprint in self._history.list_fingerprints()}
        return {fingerprint: vars(plan) for fingerprint, plan in found.items() if plan}

    def _refuse(self, environ: Environ, asked: dict[str, str]) -> Answer | None:
        if self.token is None:
            named = environ.get("HTTP_HOST", "").rpartition(":")[0] or environ.get("HTTP_HOST", "")
            return None if _is_loopback(named.strip("[]")) else ("403 Forbidden", "text/plain", b"not a loopback host")
        bearer = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
        cookie = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(COOKIE)
        for given in (asked.get("token"), bearer, cookie.value if cookie else None):
            if given and secrets.compare_digest(given.encode(), self.token.encode()):
                return None
        return "401 Unauthorized", "text/plain", b"open the address with the token that the dashboard printed"

    def _find(self, method: str, path: str, asked: dict[str, str]) -> Answer:
        if method not in ("GET", "HEAD"):
            return "405 Method Not Allowed", "text/plain", b"only GET"
        if path in _ASSETS:
            name, kind = _ASSETS[path]
            return "200 OK", kind, _read_asset(name)
        if path == "/plotly.js":
            return "200 OK", "text/javascript", _read_plotly()
        if path == "/state":
            since = asked.get("since", "")
            state = self._history.read(int(since) if since.isdecimal() else 0)
            return "200 OK", "application/json", json.dumps({**state, "plans": self._find_plans()}).encode()
        if path == "/metrics":
            return "200 OK", CONTENT_TYPE, write_metrics(self._history)
        return "404 Not Found", "text/plain", b"there is /, /state and /metrics"


def _bind(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise StreamJoinError(
            f"port: cannot listen on {host}:{port}: {error.strerror}; port=0 takes a free one"
        ) from error
    return listening


@cache
def _read_asset(name: str) -> bytes:
    return files("streamjoin.report").joinpath("page", name).read_bytes()


@cache
def _read_plotly() -> bytes:
    return str(get_plotlyjs()).encode()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
