"""Paths of this machine and of others."""

from pathlib import Path

import pytest

from streamjoin.cli.remember import find_checkpoint
from streamjoin.paths import beneath, to_absolute, to_local


@pytest.mark.parametrize(
    ("out", "checkpoint"),
    [
        ("near", "near/_checkpoint"),
        ("/data/near/", "/data/near/_checkpoint"),
        ("/", "/_checkpoint"),
        ("s3a://bucket", "s3a://bucket/_checkpoint"),
        ("s3a://bucket/near//", "s3a://bucket/near/_checkpoint"),
        ("hdfs://name:8020/near", "hdfs://name:8020/near/_checkpoint"),
        ("hdfs:///near", "hdfs:///near/_checkpoint"),
        ("file:/data/near/", "file:/data/near/_checkpoint"),
        ("file:///data/near", "file:///data/near/_checkpoint"),
        ("abfss://box@account.dfs.core.windows.net/near", "abfss://box@account.dfs.core.windows.net/near/_checkpoint"),
    ],
)
def test_a_checkpoint_lies_below_the_results(out: str, checkpoint: str) -> None:
    assert find_checkpoint(out) == checkpoint


def test_one_directory_has_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    forms = ("trades", f"{tmp_path}/trades", f"file:{tmp_path}/trades", f"file://{tmp_path}/trades")
    assert {to_absolute(path) for path in forms} == {str(tmp_path / "trades")}
    assert to_absolute("s3a://bucket/trades") == "s3a://bucket/trades"


@pytest.mark.parametrize("path", ["s3a://bucket/x", "hdfs://name/x", "dbfs:/x", "file://elsewhere/x"])
def test_what_lies_elsewhere_is_not_looked_at(path: str) -> None:
    assert to_local(path) is None


def test_a_path_of_several_names() -> None:
    assert beneath("s3a://bucket/", "a", "b") == "s3a://bucket/a/b"
