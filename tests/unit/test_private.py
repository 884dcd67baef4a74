import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from streamjoin.private import check_private, make_private

SOMEBODY = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def test_a_new_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    made = make_private(tmp_path / "a" / "b")
    assert made == (tmp_path / "a" / "b").resolve()
    assert made.stat().st_mode & 0o777 == 0o700


def test_what_is_missing_above_is_closed_too(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        made = make_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert made.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o500, 0o700])
def test_others_may_read(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert check_private(tmp_path) == tmp_path.resolve()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
def test_nobody_else_may_write(tmp_path: Path, mode: int) -> None:
    own = tmp_path / "own"
    own.mkdir()
    own.chmod(mode)
    with pytest.raises(PermissionError, match=f"own may be written to by others .mode {mode:o}"):
        check_private(own)


def test_a_parent_that_others_may_write_to_must_be_sticky(tmp_path: Path) -> None:
    own = make_private(tmp_path / "shared" / "own")
    own.parent.chmod(0o1777)
    assert check_private(own) == own
    own.parent.chmod(0o777)
    with pytest.raises(PermissionError, match="shared may be written to by others"):
        check_private(own)


@as_root
@pytest.mark.parametrize("which", ["own", "parent", "link", "behind the link"])
def test_nothing_on_the_way_belongs_to_another_user(tmp_path: Path, which: str) -> None:
    parent, link = tmp_path / "parent", tmp_path / "link"
    own = make_private(parent / "own")
    link.symlink_to(own)
    assert check_private(link) == own
    os.chown(
        {"own": own, "parent": parent, "link": link, "behind the link": parent}[which],
        SOMEBODY,
        SOMEBODY,
        follow_symlinks=False,
    )
    with pytest.raises(PermissionError, match=f"belongs to another user .uid {SOMEBODY}"):
        check_private(link if "link" in which else own)


@as_root
def test_a_directory_of_root_serves_another_user() -> None:
    """As in an image: root has warmed it, everybody reads it."""
    with tempfile.TemporaryDirectory() as own:
        Path(own).chmod(0o755)
        program = (
            f"import os; from pathlib import Path; from streamjoin.private import check_private; "
            f"os.setuid({SOMEBODY}); print(check_private(Path({own!r})))"
        )
        said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        assert Path(said.strip()) == Path(own).resolve()


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"not a directory|File exists"):
        make_private(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        check_private(tmp_path / "missing")
