"""What a run remembers of its first start."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streamjoin.cli.remember import RUN_FILE, Remembered, has_begun, is_remote, recall
from streamjoin.errors import StreamJoinError

KEPT = Remembered(("/data/trades", "/data/quotes"), ("json", "json"), ("{}", "{}"), "{}")


def test_it_is_kept_as_it_was_and_what_is_damaged_is_nothing() -> None:
    assert Remembered.from_json(KEPT.to_json()) == KEPT
    for damaged in ("", "{}", "[1]", '{"paths": ["a"]}', KEPT.to_json()[:-9]):
        assert Remembered.from_json(damaged) is None


def test_what_an_earlier_release_kept_is_read_without_a_plan() -> None:
    kept = json.loads(KEPT.to_json())
    del kept["plan"]
    assert Remembered.from_json(json.dumps(kept)) == replace(KEPT, plan="")


def test_other_inputs_are_refused_by_the_lines_that_differ() -> None:
    KEPT.check_inputs(KEPT.paths, "near/_checkpoint")
    said = r"^--right: the checkpoint in near/_checkpoint was .* of /data/quotes, and this is /data/asks"
    with pytest.raises(StreamJoinError, match=said):
        KEPT.check_inputs(("/data/trades", "/data/asks"), "near/_checkpoint")


def test_the_same_files_in_another_format_are_refused() -> None:
    KEPT.check_formats(KEPT.formats, "near/_checkpoint")
    said = "^--format: .*read /data/quotes as json, and this one reads it as csv: give --format json"
    with pytest.raises(StreamJoinError, match=said):
        KEPT.check_formats(("json", "csv"), "near/_checkpoint")


@pytest.mark.parametrize(
    ("files", "begun"),
    [([], False), (["metadata"], False), (["sources/0/0"], True), (["sources/1/.0.tmp"], False), (["offsets/0"], True)],
)
def test_a_run_is_remembered_once_it_has_noted_what_it_reads(tmp_path: Path, files: list[str], begun: bool) -> None:
    for name in [RUN_FILE, *files]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(KEPT.to_json())
    assert recall(f"file://{tmp_path}") == (KEPT if begun else None)
    assert has_begun(lambda name: [path.name for path in (tmp_path / name).glob("*")]) is begun


def test_a_checkpoint_elsewhere_is_left_to_spark(tmp_path: Path) -> None:
    assert is_remote("s3a://bucket/checkpoint")
    assert recall("s3a://bucket/checkpoint") is None
    assert not is_remote(str(tmp_path))
    assert recall(str(tmp_path)) is None
