"""The README and the tutorial are executed, and print what they say."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from streamjoin.cli.run import run as run_command

DOCS = pytest.mark.docs
ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CUT_OFF = re.compile(
    r'Traceback \(most recent call last\):\n(  File "[^"]*pyspark/daemon\.py", line \d+, in \w+\n(    .*\n)*)+'
    r"(BrokenPipeError|ConnectionResetError): .*\n"
)


def blocks(page: str) -> list[tuple[str, str]]:
    return FENCE.findall((ROOT / page).read_text())


def run(page: str) -> None:
    """Run a page's Python blocks one after the other; what one prints is what the text block after it shows."""
    namespace: dict[str, object] = {}
    printed = ""
    for language, content in blocks(page):
        if language == "python":
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(content, page, "exec"), namespace)
            printed = output.getvalue()
        elif language == "text":
            assert [line.rstrip() for line in printed.rstrip().splitlines()] == content.rstrip().splitlines()


def execute(directory: Path, *pages: str) -> str:
    """Run pages as a user would: in a process of their own, in this directory, where Spark finds their files too.

    What it writes to standard error is returned.
    """
    program = f"from tests.spark.test_docs import run\nfor page in {pages!r}: run(page)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "TZ": "UTC"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


@DOCS
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    execute(tmp_path, "docs/tutorial.md")


@DOCS
def test_the_tutorials_of_the_other_verbs_do_what_they_say(tmp_path: Path) -> None:
    names = ("point-in-time-features", "quotes-before-trades", "rolling-statistics")
    execute(tmp_path, *(f"docs/tutorials/{name}.md" for name in names))


@DOCS
def test_the_guide_to_conditions_does_what_it_says(tmp_path: Path) -> None:
    execute(tmp_path, "docs/guides/conditions.md")


@DOCS
def test_the_guide_to_checkpoints_does_what_it_says(tmp_path: Path) -> None:
    execute(tmp_path, "docs/guides/checkpoints.md")


@DOCS
def test_the_guide_to_late_rows_does_what_it_says(tmp_path: Path) -> None:
    execute(tmp_path, "docs/guides/late-rows.md")


@DOCS
def test_the_readme_runs_as_it_is_pasted_and_without_chatter(tmp_path: Path) -> None:
    """Its query still runs when Python ends. One line of Spark's comes before any code of ours."""
    said = execute(tmp_path, "README.md")
    chatter = [line for line in said.splitlines() if "TransformWithState" in line]
    assert chatter == ["Starting Streaming TransformWithStateInPandas Python worker."]
    for noise in ("segment cache", "ListenerBus", "Traceback", "\tat "):
        assert noise not in CUT_OFF.sub("", said), said


def test_only_what_spark_s_daemon_says_of_a_java_that_is_gone_is_passed_over() -> None:
    """Spark's Python processes may be writing when Java ends: they print that, whoever started the query."""
    frame = '  File "/a/pyspark.zip/pyspark/%s.py", line 1, in f\n'
    told = "Traceback (most recent call last):\n%sBrokenPipeError: [Errno 32] Broken pipe\n"
    assert CUT_OFF.sub("", told % (frame % "daemon" * 2)) == ""
    assert "Traceback" in CUT_OFF.sub("", told % (frame % "daemon" + frame % "worker"))
    assert "Traceback" in CUT_OFF.sub("", (told % (frame % "daemon")).replace("BrokenPipe", "Value"))


def make_inputs(directory: Path) -> None:
    """The directories that the README's Python makes."""
    made = next(content for language, content in blocks("README.md") if language == "python")
    subprocess.run([sys.executable, "-c", made.partition("spark = ")[0]], cwd=directory, check=True)


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return os.environ | {"PATH": path, "TZ": "UTC"}


def find_example(start: str, end: str) -> str:
    """A command of the help, as it is written there."""
    found = re.search(f"{re.escape(start)}.*?{re.escape(end)}", run_command.epilog or "", re.DOTALL)
    assert found is not None
    return found[0]


@DOCS
def test_the_command_of_the_readme_and_of_the_help_runs_as_it_is_written(tmp_path: Path) -> None:
    make_inputs(tmp_path)
    command = next(content for language, content in blocks("README.md") if content.startswith("streamjoin run"))
    for line in (command, find_example("streamjoin run --left", "--once")):
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "3 matches found" in done.stdout
        assert "unmatched" not in done.stdout


@DOCS
def test_the_help_s_example_of_a_file_of_options_runs_as_it_is_written(tmp_path: Path) -> None:
    make_inputs(tmp_path)
    (tmp_path / "job.toml").write_text(
        'left = "trades"\nright = "quotes"\non = "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5"\n'
        'within = "5 seconds"\ntime = "ts"\ndelay = "10 seconds"\nout = "near"\nonce = true\n'
    )
    line = find_example("streamjoin run --config", "job.toml")
    done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "3 matches found" in done.stdout


@DOCS
def test_the_help_s_example_of_an_as_of_join_runs_as_it_is_written_until_it_is_interrupted(tmp_path: Path) -> None:
    make_inputs(tmp_path)
    line = find_example("streamjoin run --left trades --right quotes --asof", "--out priced")
    process = subprocess.Popen(
        shlex.split(line), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        committed, end = tmp_path / "priced" / "_checkpoint" / "commits" / "0", time.monotonic() + 300
        while not committed.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, told) == (130, "interrupted; a later run goes on from the checkpoint\n")
    assert "results in priced" in said
