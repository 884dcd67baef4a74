"""What is wrong with the directories of a run is said before Spark starts."""

from pathlib import Path
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner
from pyspark.errors import PySparkException
from rich.console import Console

from streamjoin.cli.app import main
from streamjoin.cli.files import FileJoin
from streamjoin.cli.inputs import Directory, find_format
from streamjoin.cli.remember import RUN_FILE, Remembered
from streamjoin.errors import StreamJoinError
from streamjoin.join import join

RUN = ["run", "--right=quotes", "--on=l.x = r.x", "--within=1s", "--time=ts", "--delay=1 second", "--out=near"]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(*names: str) -> Directory:
    for name in names:
        Path("left", name).parent.mkdir(parents=True, exist_ok=True)
        Path("left", name).write_text("{}")
    return Directory("left", "left")


@pytest.mark.parametrize(
    ("names", "format"),
    [
        (["a.json"], "json"),
        (["a.jsonl", "b.ndjson"], "json"),
        (["day=1/part-0.snappy.parquet"], "parquet"),
        (["a.csv.gz"], "csv"),
        (["a.json", "b.json", "notes.csv"], "json"),
        (["_checkpoint/0.json", ".hidden.csv", "a.orc"], "orc"),
    ],
)
def test_extensions_tell_the_format(names: list[str], format: str) -> None:
    assert find_format(put(*names), None, has_schema=False) == format
    assert find_format(put(*names), "csv", has_schema=False) == "csv", "what is given goes before"


@pytest.mark.parametrize(
    ("names", "given", "said"),
    [
        (["a.json", "b.json"], "parquet", "; the files end in .json: leave out --format"),
        (["a.jsonl.gz"], "orc", "; the files end in .jsonl: leave out --format"),
        (["a.json"], "json", ""),
        (["part-0"], "parquet", ""),
    ],
)
def test_files_in_another_format_than_the_given_one_say_so(names: list[str], given: str, said: str) -> None:
    assert put(*names).suggest_format(given) == said


@pytest.mark.parametrize(("given", "hint"), [("parquet", ": leave out --format"), (None, "Could not read footer")])
def test_an_error_of_sparks_ends_with_the_format_that_names_tell(given: str | None, hint: str) -> None:
    spark = MagicMock()
    spark.read.format().options().load.side_effect = PySparkException("Could not read footer")
    places = {"left": put("1.json").path, "right": "right", "out": "near", "checkpoint": None}
    job = FileJoin(
        **places, formats=("parquet", "parquet"), schemas=(None, None), verb=join, arguments={"time": ("ts", "ts")},
        once=True, flush=False, trigger="1 second", out_format=given,
    )  # fmt: skip
    with pytest.raises(StreamJoinError, match=f"--left: cannot read left as parquet: .*{hint}$"):
        job.explain(spark, Console())


def test_files_that_tell_nothing_need_a_format() -> None:
    with pytest.raises(
        StreamJoinError, match=r"--left: the files in left do not tell .* give --format, one of parquet"
    ):
        find_format(put("part-0"), None, has_schema=False)


def test_an_empty_directory_needs_a_schema() -> None:
    Path("left").mkdir()
    empty = Directory("left", "left")
    with pytest.raises(StreamJoinError, match="--left: no files in left yet: give --left-schema and --format, such as"):
        find_format(empty, None, has_schema=False)
    with pytest.raises(StreamJoinError, match="--left: no files in left yet: give --left-schema, such as"):
        find_format(empty, "json", has_schema=False)
    assert find_format(empty, "json", has_schema=True) == "json"


def test_what_is_not_on_this_machine_is_left_to_spark() -> None:
    for path in ("s3a://bucket/trades", "trades/day=*"):
        assert find_format(Directory("left", path), "json", has_schema=False) == "json"


def test_a_path_without_a_directory_is_refused_before_spark_starts() -> None:
    done = CliRunner().invoke(main, [*RUN, "--left=trades"])
    assert done.exit_code == 2
    assert "--left: there is no directory trades in " in done.output
    Path("trades").write_text("")
    assert "--left: trades is a file; expected a directory" in CliRunner().invoke(main, [*RUN, "--left=trades"]).output


def test_a_table_of_delta_s_is_told_by_its_log_and_not_read_as_its_files() -> None:
    table = put("_delta_log/0.json", "part-0.parquet")
    assert find_format(table, None, has_schema=False) == "delta"
    with pytest.raises(StreamJoinError, match=r"--format: left is a table of Delta's.*got parquet, expected delta"):
        find_format(table, "parquet", has_schema=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--left=table:"], "--left: got 'table:'; expected the name of a table, such as table:db.name"),
        (["--left=table:a", "--out=table:b"], "--checkpoint: table:b has no directory of its own"),
        (["--left=table:a", "--left-schema=x INT"], "--left-schema: table:a has a schema of its own"),
    ],
)
def test_a_table_needs_a_name_and_for_results_a_checkpoint(arguments: list[str], said: str) -> None:
    Path("quotes").mkdir()
    Path("quotes", "1.json").write_text("{}")
    told = CliRunner().invoke(main, [*RUN, *arguments])
    assert told.exit_code == 2
    assert said in told.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--left=kafka://h:1/t", "--right=."], "--left-schema: kafka://h:1/t has none of its own"),
        (["--left=.", "--right=.", "--out=kafka://h:1/t"], "--checkpoint: kafka://h:1/t has no directory"),
        (
            ["--left=table:a", "--right=table:a", "--late=x", "--out=kafka://h:1/t", "--checkpoint=c"],
            "--late: every micro-batch writes its results and its late rows as files",
        ),
    ],
)
def test_a_topic_needs_a_schema_and_for_results_a_checkpoint(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(main, [*RUN, *arguments])
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("\u2502", " ").split())


def test_a_run_that_is_remembered_goes_on_with_its_format() -> None:
    Path("left").mkdir()
    assert find_format(Directory("left", "left"), None, has_schema=True, known="json") == "json"
    assert find_format(put("a.csv", "b.csv", "c.json"), None, has_schema=True, known="json") == "json"
    Path("empty").mkdir()
    with pytest.raises(StreamJoinError, match="--left: no files in empty yet: give --format, one of parquet"):
        find_format(Directory("left", "empty"), None, has_schema=True)


def remember(left: str, right: str) -> None:
    """A run whose first micro-batch was planned, and no more."""
    for name in ("left", "quotes"):
        Path(name).mkdir()
    kept = Remembered((str(Path("left").absolute()), str(Path("quotes").absolute())), (left, right), ("{}", "{}"))
    for name in ("offsets/0", RUN_FILE):
        Path("near/_checkpoint", name).parent.mkdir(parents=True)
        Path("near/_checkpoint", name).write_text(kept.to_json())


def refuse(*arguments: str) -> str:
    done = CliRunner().invoke(main, [*RUN, *arguments])
    assert done.exit_code == 2, done.output
    return " ".join(done.output.replace("\u2502", " ").split())


def test_what_is_remembered_is_compared_before_spark_starts() -> None:
    remember("json", "csv")
    Path("left/1.json").write_text("{}")
    Path("asks").mkdir()
    said = refuse("--left=left", "--format=json")
    assert "quotes as csv, and this one reads it as json: give --format csv" in said
    assert "reads it as json" not in said.partition("quotes as csv")[0]
    said = refuse("--left=asks")
    assert "--left: the checkpoint in near/_checkpoint was written by a join of" in said
    assert "--right: the" not in said


def test_a_directory_that_is_empty_by_now_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    remember("json", "csv")
    started: list[object] = []
    monkeypatch.setattr("streamjoin.cli.run.run_on_spark", lambda work, **settings: started.append(settings))
    done = CliRunner().invoke(main, [*RUN, "--left=left"])
    assert (done.exit_code, len(started)) == (0, 1), done.output
