"""A history keeps what is shown of each query: bounded, in order, with how it ended."""

from streamjoin.report import history
from streamjoin.report.history import History, read_sample
from tests.unit.report.reports import make_metrics, make_report

MS = 1_767_603_600_000  # 2026-01-05 09:00:00 UTC


def test_a_sample_has_the_times_of_the_batch_and_the_metrics_of_its_joins() -> None:
    other = {"rows": 5}
    sample = read_sample(make_report(3, joins={"streamjoin": make_metrics(rows_left=1), "mine": other}))
    assert sample["at"] == MS + 400
    assert sample["milliseconds"] == 400
    assert sample["parts"] == {"addBatch": 300, "walCommit": 50}
    assert sample["newest"] == MS - 1_000
    assert sample["watermark"] == MS - 11_000
    assert list(sample["joins"]) == ["streamjoin"]


def test_before_the_first_watermark_there_is_none() -> None:
    report = make_report(0)
    report["eventTime"] = {"watermark": "1970-01-01T00:00:00.000Z"}
    assert read_sample(report)["watermark"] is None
    assert read_sample(report)["newest"] is None


def test_a_batch_without_rows_tells_nothing_of_its_join() -> None:
    nothing = dict.fromkeys(make_metrics(), None)
    assert read_sample(make_report(1, joins={"streamjoin": nothing}))["joins"] == {}


def test_an_interval_is_from_start_to_start_of_a_query_that_runs() -> None:
    # second   0     1     2                 60      0 again: the clock was set back
    # batch    0---  1-    2-----------      3-      4-
    kept = History()
    for batch, (second, took) in enumerate(((0, 600), (1, 300), (2, 9000), (60, 400), (0, 400))):
        report = make_report(batch, second=second)
        report["durationMs"]["triggerExecution"] = took
        kept.add(report)
    kept.add(make_report(5, run="restarted", second=61))
    first, restarted = kept.read()["queries"]
    assert [sample["interval"] for sample in first["samples"]] == [None, 1_000, 1_000, 58_000, None]
    assert [sample["interval"] for sample in restarted["samples"]] == [None]


def test_only_what_is_new_is_read() -> None:
    kept = History()
    kept.start("run-1", "near", MS)
    kept.add(make_report(0))
    first = kept.read()
    kept.add(make_report(1, second=1))
    (query,) = kept.read(first["sequence"])["queries"]
    assert [sample["batch"] for sample in query["samples"]] == [1]
    assert query["name"] == "near"


def test_histories_are_told_apart() -> None:
    assert History().read()["history"] != History().read()["history"]


def test_an_hour_is_kept_and_no_more_than_so_many_batches() -> None:
    kept = History()
    for batch, second in enumerate((0, 10, 3_605)):
        kept.add(make_report(batch, second=second))
    (query,) = kept.read()["queries"]
    assert [sample["batch"] for sample in query["samples"]] == [1, 2]
    for batch in range(history.MOST_SAMPLES + 5):
        kept.add(make_report(batch, second=3_605))
    (query,) = kept.read()["queries"]
    assert len(query["samples"]) == history.MOST_SAMPLES


def test_counts_are_summed_since_the_start_even_if_their_batches_are_forgotten() -> None:
    kept = History()
    for batch in range(3):
        kept.add(make_report(batch, second=3_700 * batch))
    ((name, join, metrics),) = kept.read_last()
    assert (name, join) == ("near", "streamjoin")
    assert metrics["rows_left"] == 12  # a count
    assert metrics["state_rows"] == 9  # a level


def test_a_query_that_failed_stays_with_its_reason_and_old_ones_go() -> None:
    kept = History()
    for number in range(history.MOST_ENDED + 3):
        kept.start(f"run-{number}", None, MS)
        kept.end(f"run-{number}", MS + number, f"reason {number}")
    found = kept.read()["queries"]
    assert [query["reason"] for query in found] == [f"reason {n}" for n in range(3, history.MOST_ENDED + 3)]
    assert kept.read_last() == []


def test_the_newest_row_of_an_input_stays_while_none_comes() -> None:
    kept = History()
    for batch, newest in enumerate((7, None)):
        kept.add(
            make_report(batch, second=batch, joins={"streamjoin": make_metrics(newest_left=newest, matches=batch)})
        )
    ((_, _, metrics),) = kept.read_last()
    assert (metrics["newest_left"], metrics["newest_right"], metrics["matches"]) == (7, None, 1)
