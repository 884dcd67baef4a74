"""What a run remembers of its first start."""

from pathlib import Path

import pytest

from streamjoin.cli.remember import RUN_FILE, Remembered, is_remembered, place
from streamjoin.errors import StreamJoinError

KEPT = Remembered(("/data/trades", "/data/quotes"), ("json", "json"), ("{}", "{}"))


def test_it_is_kept_as_it_was_and_what_is_damaged_is_nothing() -> None:
    assert Remembered.from_json(KEPT.to_json()) == KEPT
    for damaged in ("", "{}", "[1]", '{"paths": ["a"]}', KEPT.to_json()[:-9]):
        assert Remembered.from_json(damaged) is None


def test_other_inputs_are_refused() -> None:
    KEPT.check(KEPT.paths, "near/_checkpoint")
    with pytest.raises(
        StreamJoinError, match=r"--right: the checkpoint in near/_checkpoint was .* of /data/quotes, and"
    ):
        KEPT.check(("/data/trades", "/data/asks"), "near/_checkpoint")


def test_a_directory_is_the_same_wherever_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place("trades") == place(f"file:{tmp_path}/trades") == str(tmp_path / "trades")
    assert place("s3a://bucket/trades") == "s3a://bucket/trades"
    assert not is_remembered("checkpoint")
    Path("checkpoint/streamjoin").mkdir(parents=True)
    Path("checkpoint", RUN_FILE).touch()
    assert is_remembered("checkpoint")
