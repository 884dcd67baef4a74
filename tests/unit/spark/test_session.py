"""Which session `session` takes, where no Spark need start."""

import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.spark import session


def test_a_server_of_connect_is_no_master() -> None:
    with pytest.raises(StreamJoinError) as refused:
        session.session(master="sc://host:15002")
    for part in ("master: sc://host:15002 is a server of Spark Connect", 'remote("sc://host:15002")', "configure"):
        assert part in str(refused.value)


def test_a_session_without_a_package_is_refused_before_java_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "RELEASE", "4.3.0")
    monkeypatch.setattr(session, "ensure_java", lambda: pytest.fail("Java was looked for"))
    with pytest.raises(StreamJoinError, match='packages: "kafka" is for'):
        session.session(packages=["kafka"])
