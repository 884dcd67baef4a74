"""Which directories hold compiled code."""

import logging
import os
import tempfile
from pathlib import Path

import pytest

from streamjoin.compile import place
from streamjoin.compile.place import places

SOMEBODY = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place._warn.cache_clear()
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("STREAMJOIN_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def test_the_home_of_the_user_then_that_of_temporary_files(tmp_path: Path) -> None:
    assert places() == [tmp_path / "home" / ".cache" / "streamjoin"]
    (tmp_path / "home" / ".cache" / "streamjoin").rmdir()
    (tmp_path / "home" / ".cache" / "streamjoin").write_text("in the way")
    assert places() == [tmp_path / "tmp" / f"streamjoin-code-{os.geteuid()}"]


def test_what_was_asked_for_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert places() == [tmp_path / "xdg" / "streamjoin"]
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", str(tmp_path / "asked for"))
    assert places() == [tmp_path / "asked for"]


def test_behind_one_that_can_only_be_read_comes_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = tmp_path / "image"
    image.mkdir()
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", str(image))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != image)  # root may write anywhere
    assert places() == [image, tmp_path / "home" / ".cache" / "streamjoin"]


def unsafe(path: Path, why: str) -> Path:
    path.mkdir()
    if why == "writable":
        path.chmod(0o777)
    elif why == "foreign":
        os.chown(path, SOMEBODY, SOMEBODY)
    elif why == "below":
        path.chmod(0o777)
        return path / "below"
    elif why == "link":
        link = path.with_name("link")
        link.symlink_to(path)
        os.chown(link, SOMEBODY, SOMEBODY, follow_symlinks=False)
        return link
    return path


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("writable", "may be written to by others"),
        ("below", "may be written to by others"),
        pytest.param("foreign", "belongs to another user", marks=as_root),
        pytest.param("link", "belongs to another user", marks=as_root),
    ],
)
def test_what_others_can_change_is_not_used_even_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, why: str, said: str
) -> None:
    asked_for = unsafe(tmp_path / "unsafe", why)
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", str(asked_for))
    own = tmp_path / "home" / ".cache" / "streamjoin"
    with caplog.at_level(logging.WARNING, "streamjoin"):
        assert places() == places() == [own]
    (record,) = caplog.records  # once, with the reason and what happens instead
    assert said in record.getMessage()
    assert f"kept in {own}" in record.getMessage()


def test_one_that_cannot_be_made_is_said_too(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", "/dev/null/nowhere")
    assert places()
    assert "/dev/null/nowhere: Not a directory" in caplog.text
