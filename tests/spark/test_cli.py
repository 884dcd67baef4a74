"""The command line as its users meet it: through a pipe, in a terminal, interrupted, with mistakes."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamjoin.cli.app import main
from streamjoin.cli.quiet import reason
from streamjoin.cli.verbs import split_commas

COMMAND = [sys.executable, "-m", "streamjoin"]
RUN = ["run", "--left=trades", "--right=quotes", "--on=l.x = r.x", "--time=ts", "--delay=1 second", "--out=near"]
ON = "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5"
NEAR = ["run", "--left=trades", "--right=quotes", f"--on={ON}", "--time=ts", "--delay=10 seconds", "--out=near"]
TRADES = [("09:30:00", "ACME", 20.1), ("09:30:04", "ACME", 21.9), ("09:30:02", "BETA", 41.0)]
QUOTES = [("09:30:01", "ACME", 20.5), ("09:30:02", "BETA", 40.6), ("09:30:06", "ACME", 22.0)]


def write(directory: Path, name: str, column: str, rows: list[tuple[str, str, float]]) -> None:
    directory.mkdir(exist_ok=True)
    lines = [json.dumps({"ts": f"2026-01-05T{t}Z", "sym": sym, column: value}) for t, sym, value in rows]
    (directory / f"{name}.json").write_text("\n".join(lines))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write(tmp_path / "trades", "1", "price", TRADES)
    write(tmp_path / "quotes", "1", "ask", QUOTES)
    return tmp_path


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=home, env=environment(), capture_output=True, text=True)


@pytest.mark.every_spark
@pytest.mark.docs
def test_the_demo_finds_what_theory_predicts_and_prints_plain_lines_into_a_pipe(tmp_path: Path) -> None:
    options = ["--rate=2000", "--window=20", "--seconds=60", "--step=15", "--skew=0.5", "--disorder=1"]
    done = run(tmp_path, "demo", "--dashboard", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dashboard: http://127.0.0.1:" in done.stdout
    assert "\x1b" not in done.stdout
    assert len(re.findall(r"^batch \d+: ", done.stdout, re.MULTILINE)) == 4
    deviation = re.search(r"matches .*\(([-+][\d.]+) %\)", done.stdout)
    assert deviation is not None
    assert abs(float(deviation[1])) < 2


@pytest.mark.parametrize(
    ("options", "environ", "asked"),
    [
        (["--master=sc://127.0.0.1:1"], {}, "--master sc://127.0.0.1:1"),
        ([], {"SPARK_REMOTE": "sc://127.0.0.1:1"}, "SPARK_REMOTE"),
    ],
)
def test_commands_refuse_spark_connect_before_they_start_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], environ: dict[str, str], asked: str
) -> None:
    for name, value in {**environ, "PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}.items():  # no Java to start
        monkeypatch.setenv(name, value)
    done = run(tmp_path, "demo", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: {asked}" in done.stderr
    assert "asks for Spark Connect" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [("streamjoin r", "run"), ("streamjoin run --fo", "--format"), ("streamjoin demo --sk", "--skew")],
)
def test_a_shell_completes_commands_and_options(words: str, offered: str) -> None:
    command = str(Path(sys.executable).with_name("streamjoin"))
    shell = {**environment(), "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    script = subprocess.run(
        [command], env={**shell, "_STREAMJOIN_COMPLETE": "bash_source"}, capture_output=True, text=True, check=True
    )
    assert "complete -o nosort -F _streamjoin_completion streamjoin" in script.stdout
    answer = subprocess.run(
        [command], env={**shell, "_STREAMJOIN_COMPLETE": "bash_complete"}, capture_output=True, text=True, check=True
    )
    assert f"plain,{offered}" in answer.stdout.splitlines()


@pytest.mark.docs
def test_run_joins_directories_once_goes_on_where_it_was_and_emits_what_waits(home: Path) -> None:
    write(home / "trades", "0", "price", [("09:30:03", "GAMMA", 5.0)])
    (home / "job.toml").write_text(
        f'left = "trades"\nright = "quotes"\non = "{ON}"\nwithin = "5 seconds"\ntime = "ts"\ndelay = "10 seconds"\n'
        'format = "json"\nout = "near"\nselect = ["l.sym", "r.ask"]\nonce = true\nhow = "left"\n'
    )
    first = run(home, "run", "--config", "job.toml")
    assert (first.returncode, first.stderr) == (0, "")
    assert "left  trades: price double, sym string, ts timestamp" in first.stdout
    assert "3 matches found" in first.stdout
    assert "\n1 row is unmatched so far" in first.stdout
    matched = [("ACME", 20.5), ("ACME", 22.0), ("BETA", 40.6)]
    assert results(home / "near") == matched

    write(home / "trades", "2", "price", [("09:30:05", "BETA", 40.9), ("09:30:05", "DELTA", 1.0)])
    second = run(home, "run", "--config", "job.toml", "--flush")
    assert (second.returncode, second.stderr) == (0, "")
    assert "1 match found" in second.stdout
    assert "\n2 rows emitted unmatched by --flush" in second.stdout
    assert "unmatched so far" not in second.stdout
    everybody = sorted([*matched, ("BETA", 40.6), ("DELTA", None), ("GAMMA", None)])
    assert results(home / "near") == everybody


def results(directory: Path) -> list[tuple[str, float | None]]:
    """What is in committed files, which Spark lists in a log of its own."""
    rows = [json.loads(line) for file in directory.glob("*.json") for line in file.read_text().splitlines()]
    return sorted((row["sym"], row.get("ask")) for row in rows)


@pytest.mark.slow
def test_after_a_flush_rows_of_that_time_are_late_and_others_go_on(home: Path) -> None:
    job = ["--left=trades", "--right=quotes", "--within=5 seconds", "--time=ts", "--delay=10 seconds", "--format=json"]
    command = ["run", *job, "--on", ON, "--out=near", "--how=full", "--once", "--flush"]
    assert run(home, *command).returncode == 0
    write(home / "trades", "2", "price", [("09:30:05", "BETA", 40.9), ("09:31:05", "BETA", 40.9)])
    again = run(home, *command)
    assert again.returncode == 0, again.stderr
    assert "2 rows in, 0 matches found, 1 late row dropped" in again.stdout
    assert "unmatched" not in again.stdout


@pytest.mark.slow
def test_explain_shows_the_plan_and_another_plan_is_refused(home: Path) -> None:
    explained = run(home, *NEAR, "--within=5 seconds", "--layout=Keyed(2)", "--explain")
    assert explained.returncode == 0, explained.stderr
    assert "Keyed(2), as asked for: 2 cells" in explained.stdout
    assert run(home, *NEAR, "--within=5 seconds", "--once").returncode == 0
    write(home / "trades", "3", "price", [("09:30:06", "BETA", 40.9)])
    other = run(home, *NEAR, "--within=6 seconds", "--once")
    assert other.returncode == 1
    assert "This checkpoint was written by another join" in other.stderr
    assert "Traceback" not in other.stderr


@pytest.mark.guarantee
@pytest.mark.slow
def test_a_run_that_is_killed_before_its_first_commit_goes_on_and_another_is_refused(home: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, *NEAR, "--once", "--within=5 seconds"], cwd=home, env=environment(), start_new_session=True
    )
    checkpoint, end = home / "near" / "_checkpoint", time.monotonic() + 180
    while not (checkpoint / "offsets" / "0").exists() and time.monotonic() < end:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (checkpoint / "commits" / "0").exists()
    assert not (checkpoint / "streamjoin" / "plan.json").exists()

    other = run(home, *NEAR, "--once", "--within=6 seconds")
    assert (other.returncode, "--- this join\nwindow        between('-6 seconds'" in other.stderr) == (1, True)
    again = run(home, *NEAR, "--once", "--within=5 seconds")
    assert again.returncode == 0, again.stderr
    assert "3 matches found" in again.stdout


@pytest.mark.guarantee
@pytest.mark.slow
def test_a_terminal_shows_a_live_view_and_an_interrupt_ends_cleanly(home: Path) -> None:
    arguments = ["--left=trades", "--right=quotes", "--within=5 seconds", "--time=ts", "--delay=10 seconds"]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "--on", ON, *arguments, "--format=json", "--out=near"],
        cwd=home,
        env={**environment(), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        seen = read_until(master, "cell 1")
        assert "matches" in seen
        process.send_signal(signal.SIGINT)
        seen += read_until(master, "goes on from the checkpoint")
        assert process.wait(60) == 130
        assert "Traceback" not in seen
    finally:
        os.close(master)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def read_until(terminal: int, text: str, seconds: float = 180) -> str:
    """What a terminal shows until it shows this."""
    seen, end = "", time.monotonic() + seconds
    while text not in seen:
        assert time.monotonic() < end, f"{text!r} was not shown:\n{seen[-2000:]}"
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                seen += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
    assert text in seen, seen[-2000:]
    return seen


@pytest.mark.slow
def test_the_users_mistakes_are_one_paragraph(home: Path) -> None:
    common = [
        "--left",
        "trades",
        "--right",
        "quotes",
        "--time",
        "ts",
        "--delay",
        "10 seconds",
        "--format",
        "json",
        "--out",
        "near",
        "--once",
    ]
    wrong = run(home, "run", "--on", "l.sym = r.symbol", "--within", "5 seconds", *common)
    assert wrong.returncode == 1
    assert "r.symbol" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert not (home / "near").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--left", "trades"], "Missing option"),
        (["run", "--format", "xml"], "'xml' is not one of"),
        (["demo", "--rate", "many"], "is not a valid float"),
        (["run", "--config", "nowhere.toml"], "No such file"),
        ([*RUN, "--once", "--flush"], "--flush is for --once with --how left"),
        ([*RUN, "--how=left", "--flush"], "--flush is for --once with --how left"),
        ([*RUN, "--how=sideways"], "how: got 'sideways'"),
        ([*RUN, "--within=1 day", "--tumbling=1 day"], "--within and --tumbling: expected one window"),
        ([*RUN, "--layout=Ring(3)"], "layout: got 'Ring(3)'"),
        ([*RUN, "--layout=Handshake(3)"], "It is for joins within one process"),
        ([*RUN, "--time=a,b,c"], "--time: got 'a,b,c'; expected one for both sides"),
        ([*RUN, "--delay=soon"], "--delay: cannot read 'soon' as a duration"),
        ([*RUN, "--delay=1 second,-1 second"], "--delay: got '-1 second'; expected a duration >= 0"),
        ([*RUN, "--trigger=often"], "--trigger: cannot read 'often' as a duration"),
        ([*RUN, "--aggregate=count(*)", "--asof=1 minute"], "--aggregate and --asof: expected one of them"),
        ([*RUN, "--by=sym"], "--by: is for --asof"),
        ([*RUN, "--asof=1 minute", "--within=1 minute"], "--within: not with --asof"),
        ([*RUN, "--aggregate=count(*)", "--select=l.id"], "--select: not with --aggregate"),
        ([*RUN, "--aggregate=count(*)", "--ordered"], "--ordered: not with --aggregate"),
        (["demo", "--step=0"], "'--step': 0.0 is not in the range"),
        (["dance"], "No such command"),
    ],
)
def test_wrong_usage_is_told_before_spark_starts(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert said in done.output


def test_help_shows_examples_as_they_are_written() -> None:
    done = CliRunner().invoke(main, ["run", "--help"])
    assert done.exit_code == 0
    assert '  streamjoin run --left trades --right quotes --on "l.sym = r.sym AND' in done.output
    assert "Exit codes: 0 done, 1 failed" in done.output


def test_commas_in_backticks_do_not_part_columns() -> None:
    assert split_commas("l.id, r.`a, b` AS c") == ["l.id", "r.`a, b` AS c"]


def test_our_own_sentence_is_found_in_sparks_trace() -> None:
    trace = "[STREAM_FAILED] Query terminated\nstreamjoin.errors.StreamJoinError: It is so.\nAnd so.\n\tat org.apache"
    assert reason(RuntimeError(trace)) == "It is so.\nAnd so."
    assert (
        reason(RuntimeError("[PATH_NOT_FOUND] Path does not exist: x\n\tat org"))
        == "[PATH_NOT_FOUND] Path does not exist: x"
    )
