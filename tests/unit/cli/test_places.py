"""Places that cannot be read or written are refused before Spark starts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from streamjoin.cli.app import main
from streamjoin.cli.window import check_window

RUN = ["run", "--on=l.x = r.x", "--within=1s", "--time=ts", "--delay=1 second"]
TOPICS = ["--left=kafka://h:1/t", "--left-schema=x INT", "--right=quotes"]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STREAMJOIN_KAFKA_CONFIG", raising=False)
    for name in ("trades", "quotes"):
        Path(name).mkdir()
        Path(name, "1.json").write_text("{}")
    Path("file").write_text("")


def refuse(*arguments: str) -> str:
    """What is said before Spark starts; the last of an option that is given twice counts."""
    done = CliRunner().invoke(main, [*RUN, "--left=trades", "--right=quotes", "--out=near", *arguments])
    assert done.exit_code == 2, done.output
    return " ".join(done.output.replace("\u2502", " ").split())


@pytest.mark.parametrize("option", ["--left", "--right", "--out"])
@pytest.mark.parametrize(
    "url", ["kafka://me:hunter2@h:1/t", "kafka://h/t", "Kafka://me:hunter2@h:1/t", "kafka:me:hunter2", "kafka://h:1"]
)
def test_a_url_of_a_topic_is_read_before_all_else_and_never_shown(option: str, url: str) -> None:
    said = refuse(f"{option}={url}")
    assert f"{option}: got no topic's URL; expected kafka://host:port/topic" in said
    assert "STREAMJOIN_KAFKA_CONFIG or --kafka-config names" in said
    assert "hunter2" not in said
    assert url not in said


def test_kafka_s_settings_are_read_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad").write_text("password hunter2")
    Path("bytes").write_bytes(b"\xff\xfe\x00")
    assert "--kafka-config: cannot read Kafka's settings in" in refuse(*TOPICS, "--kafka-config=nowhere")
    assert "--kafka-config: cannot read Kafka's settings in" in refuse("--kafka-config=trades")
    assert "--kafka-config: cannot read Kafka's settings in" in refuse("--kafka-config=bytes")
    said = refuse(*TOPICS, "--kafka-config=bad")
    assert "has a line that is not name=value" in said
    assert "hunter2" not in said
    monkeypatch.setenv("STREAMJOIN_KAFKA_CONFIG", "elsewhere")
    assert "elsewhere: No such file" in refuse(*TOPICS)


@pytest.mark.parametrize("option", ["--out", "--late", "--checkpoint"])
def test_what_is_written_is_no_file(option: str) -> None:
    assert f"{option}: file is a file; expected a directory" in refuse(f"{option}=file")


@pytest.mark.parametrize("late", ["near", "./near/", "near/late", ".", "file:{}/near"])
def test_results_and_late_rows_lie_apart(tmp_path: Path, late: str) -> None:
    assert "and --out near are one place, or one lies in the other" in refuse(f"--late={late.format(tmp_path)}")


def test_places_elsewhere_are_compared_by_name() -> None:
    said = refuse("--out=s3a://bucket/near", "--late=s3a://bucket/near//")
    assert "are one place, or one lies in the other" in said
    assert "no directory nowhere" in refuse("--out=s3a://bucket/near", "--late=s3a://bucket/near2", "--left=nowhere")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out=quotes"], "--out: quotes is what --right reads"),
        (["--late=./trades"], "--late: ./trades is what --left reads"),
        (["--left=table:a", "--out=table:a", "--checkpoint=c"], "--out: table:a is what --left reads"),
        (["--late=table:a"], "--late: got 'table:a'; expected a directory"),
        (["--bad=keep"], "--bad: is for topics"),
        (["--left-schema=INT"], "--left-schema: got 'INT', where 'INT' is no column"),
        (["--right-schema=ts TIMESTAMP, x"], "--right-schema: got 'ts TIMESTAMP, x', where 'x' is no column"),
    ],
)
def test_other_mistakes_have_a_sentence(arguments: list[str], said: str) -> None:
    assert said in refuse(*arguments)


def test_inputs_may_be_the_same() -> None:
    assert "no directory nowhere" in refuse("--right=trades", "--left=trades", "--right=nowhere")


# The window


NO_WINDOW = ["run", "--time=ts,at", "--delay=1 second", "--left=trades", "--right=quotes", "--out=near"]


@pytest.mark.parametrize("more", [[], ["--aggregate=count(*) AS n"]])
@pytest.mark.parametrize("on", ["l.x = r.x", "l.x = r.x AND l.ts > r.ts"])
def test_a_join_without_a_window_is_refused_before_spark_starts(on: str, more: list[str]) -> None:
    done = CliRunner().invoke(main, [*NO_WINDOW, f"--on={on}", *more])
    said = " ".join(done.output.replace("\u2502", " ").split())
    assert done.exit_code == 2
    assert "no window: give --within, --between, --tumbling or --last, or time bounds in --on, such as r.at " in said


@pytest.mark.parametrize("on", ["r.AT BETWEEN l.ts AND l.ts + INTERVAL 1 MINUTE", "l.x = = r.x"])
def test_time_bounds_may_be_the_window_and_what_cannot_be_read_is_for_the_library(on: str) -> None:
    check_window(None, on, ("ts", "at"))


@pytest.mark.parametrize("option", ["--delay=10", "--trigger=10"])
def test_a_time_without_a_unit_is_told_what_can_be_typed(option: str) -> None:
    said = refuse(option)
    assert f"{option[:-3]}: cannot read '10' as a duration; expected text such as \"15 minutes\"" in said
    assert "timedelta" not in said
