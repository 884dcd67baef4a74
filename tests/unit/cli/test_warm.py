"""``streamjoin warm``: no Spark, no Java, one directory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamjoin.cli.app import main
from streamjoin.match import warm as steps

CONDITION = ["--on=l.x * r.a <= 7", "--left-schema=x INT", "--right-schema=a INT NOT NULL"]


@pytest.fixture
def only_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without every kernel for every type, which takes half a minute."""
    monkeypatch.setattr(steps, "everything", list)
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", "")  # what the command sets goes with the test


def warm(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["warm", *map(str, arguments)])


@pytest.mark.slow
def test_everything_is_compiled_once_and_a_join_finds_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamjoin", "warm", f"--directory={tmp_path / 'code'}", *CONDITION]
    environment = os.environ | {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}

    def run() -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert not done.stderr
        return done.stdout

    assert re.fullmatch(rf"\d+ kernels compiled in [\d.]+ s; code is in {tmp_path / 'code'}\n", run())
    assert len(list((tmp_path / "code").glob("*.code"))) > 60
    assert run() == f"all was compiled already; code is in {tmp_path / 'code'}\n"


@pytest.mark.usefixtures("only_conditions")
def test_a_condition_is_compiled_and_marked(tmp_path: Path) -> None:
    done = warm("--directory", tmp_path / "code", *CONDITION)
    assert done.exit_code == 0, done.output
    assert f"code is in {tmp_path / 'code'}" in done.output
    assert (tmp_path / "code").stat().st_mode & 0o777 == 0o755
    assert {path.suffix for path in (tmp_path / "code").iterdir()} >= {".done"}


@pytest.mark.usefixtures("only_conditions")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--on=l.x = r.x"], 2, "--on needs --left-schema"),
        (["--on=l.x = r.y", "--left-schema=x INT"], 1, "r.y"),
        (["--on=l.x = r.x", "--left-schema=x"], 1, "expected names and types"),
        (["--directory=/dev/null/code"], 1, "--directory: /dev/null/code cannot be used"),
    ],
)
def test_mistakes_end_with_a_sentence(arguments: list[str], code: int, said: str) -> None:
    done = warm(*arguments)
    assert (done.exit_code, said in done.output) == (code, True), done.output


@pytest.mark.usefixtures("only_conditions")
def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    done = warm("--directory", tmp_path)
    assert done.exit_code == 1
    assert "may be written to by others" in done.output
    assert not list(tmp_path.iterdir())
