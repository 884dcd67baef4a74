"""The verb `dashboard`: a live page of all joins of a session, served from the driver."""

import json
import time
from html import escape
from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.report.history import History, Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"


class Dashboard:
    """A page that shows the queries of a session while they run, and afterwards how they ended."""

    def __init__(self, spark: "SparkSession", host: str, port: int) -> None:
        from streamjoin.report.server import Server
        from streamjoin.spark.compat import listen

        self.history = History()
        self._server = Server(self.history, _find_plan, host, port)
        self._stop_listening = listen(
            spark,
            started=lambda run, name: self.history.start(run, name, _now()),
            progressed=lambda report: self.history.add(json.loads(report)),
            ended=lambda _, run, reason: self.history.end(run, _now(), reason),
        )

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._server.url

    def close(self) -> None:
        """Stop serving and listening."""
        self._stop_listening()
        self._server.close()

    def __enter__(self) -> "Dashboard":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Dashboard({self.url})"

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.url)}" target="_blank">streamjoin dashboard</a>'


def dashboard(spark: "SparkSession", *, port: int = 0, host: str = LOOPBACK) -> Dashboard:
    """Serve a live page of the session's joins: rates, lag, windows, load of the cells, late rows, and how queries end.

    :param spark: the session; queries that it starts from now on are shown, and reports of those that run already.
    :param port: where to listen; 0 takes a free port. The same server gives Prometheus its metrics, under ``/metrics``.
    :param host: the address to listen on. Another than this machine's own is reached with a token alone, which is part
        of `url`.

    >>> with dashboard(spark) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise StreamJoinError(f"port: got {port!r}; expected a number from 0 to 65535")
    try:
        return Dashboard(spark, host, port)
    except ModuleNotFoundError as error:
        raise StreamJoinError(
            f"dashboard: {error.name} is not installed; expected pip install 'streamjoin[dashboard]'"
        ) from error


def _find_plan(fingerprint: str) -> Plan | None:
    from streamjoin.spark.known import find_known

    known = find_known(fingerprint)
    return Plan(known.plan, known.delays.get("l"), known.delays.get("r")) if known else None


def _now() -> int:
    return round(time.time() * 1000)
