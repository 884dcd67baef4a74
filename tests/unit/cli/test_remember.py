"""What a run remembers of its first start."""

from pathlib import Path

import pytest

from streamjoin.cli.remember import RUN_FILE, Remembered, is_remembered
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


def test_a_checkpoint_is_looked_at_where_it_lies(tmp_path: Path) -> None:
    assert is_remembered("s3a://bucket/checkpoint")
    assert not is_remembered(str(tmp_path))
    (tmp_path / RUN_FILE).parent.mkdir(parents=True)
    (tmp_path / RUN_FILE).touch()
    assert is_remembered(f"file://{tmp_path}")
