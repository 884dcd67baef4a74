"""Which session `session` takes, where no Spark need start."""

import pytest
from pyspark.errors import PySparkRuntimeError

from streamjoin.errors import StreamJoinError
from streamjoin.spark import session
from streamjoin.spark.compat import RELEASE


def test_a_server_of_connect_is_no_master() -> None:
    with pytest.raises(StreamJoinError) as refused:
        session.session(master="sc://host:15002")
    for part in ("master: sc://host:15002 is a server of Spark Connect", 'remote("sc://host:15002")', "configure"):
        assert part in str(refused.value)


def test_a_start_that_fails_for_its_packages_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: object) -> None:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(session, "_make_session", end)
    monkeypatch.setattr(session, "_find_running", lambda *_: None)
    with pytest.raises(StreamJoinError, match=rf"spark-sql-kafka-0-10_2.13:{RELEASE} to load.*Maven lacks it"):
        session.session(packages=["kafka"])
    with pytest.raises(PySparkRuntimeError):
        session.session()
