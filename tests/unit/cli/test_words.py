"""Messages as those read them who type options, and errors of Java's in one paragraph."""

import pytest

from streamjoin.cli.quiet import reason
from streamjoin.cli.words import to_options


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        (
            "to go on, set spark.sql.shuffle.partitions to 2 and take layout=Grid(1, 2), or auto if it was that.",
            "to go on, give --partitions 2 and --layout Grid(1, 2), or auto if it was that.",
        ),
        (
            'Before the first start say spark.conf.set("spark.sql.shuffle.partitions", 4), or',
            "Before the first start give --partitions 4, or",
        ),
        (
            "config: cannot read Kafka's settings in /x: Is a directory",
            "--kafka-config: cannot read Kafka's settings in /x: Is a directory",
        ),
        ("on: unknown column l.y", "--on: unknown column l.y"),
        ("by: unknown column l.symbol", "--by: unknown column l.symbol"),
        (
            "window: last(5) counts rows, which nothing tells; give p=",
            "--last: last(5) counts rows, which nothing tells; give -p",
        ),
        ("give schemas in place of files, with rates= and p=", "give schemas in place of files, with --rate and -p"),
        (
            "bound the other end too, or give window=",
            "bound the other end too, or give --within, --between or --tumbling",
        ),
        ("on: l.p=r.p", "--on: l.p=r.p"),
        ("the cells say on: it", "the cells say on: it"),
    ],
)
def test_options_stand_in_place_of_arguments_and_settings(said: str, typed: str) -> None:
    assert to_options(said) == typed


JAVA = """An error occurred while calling o76.load.
: org.apache.spark.SparkException: [CANNOT_READ_FILE_FOOTER] Could not read footer for file: file:/1.json.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFooterForFileError(QueryExecutionErrors.scala:1065)
\t... 24 more
Caused by: java.lang.RuntimeException: file:/1.json is not a Parquet file. Expected magic number at tail
\tat org.apache.parquet.hadoop.ParquetFileReader.readFooter(ParquetFileReader.java:1)
\t... 11 more
"""


def test_an_error_of_javas_is_one_paragraph() -> None:
    assert reason(RuntimeError(JAVA)) == (
        "[CANNOT_READ_FILE_FOOTER] Could not read footer for file: file:/1.json. "
        "(file:/1.json is not a Parquet file. Expected magic number at tail)"
    )
    assert reason(RuntimeError("")) == "RuntimeError"


def test_a_refusal_at_the_start_ends_before_sparks_words() -> None:
    failed = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: StreamJoinError: It is so.\nAnd so. SQLSTATE: XXKST"
    )
    assert reason(RuntimeError(failed)) == "It is so.\nAnd so."
