"""``streamjoin advise``: a page, JSON, a picture, and this machine's constants where they were measured."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streamjoin.advice import calibrate as measured
from streamjoin.advice import kept
from streamjoin.cli import calibrate
from streamjoin.cli.app import main
from streamjoin.model.constants import SHIPPED, Constants

JOIN = ["--on=abs(l.x - r.a) <= 10", "--within=15 minutes", "--rate=1000,500", "--hit-rate=1e-5", "--cores=4"]


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", str(tmp_path / "cache"))


def advise(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["advise", *arguments])


def test_a_page() -> None:
    done = advise(*JOIN)
    assert done.exit_code == 0
    assert done.stdout.startswith("Pass ")
    assert 'Or in a shell streamjoin run ... --layout "' in done.stdout
    assert '" --trigger "' in done.stdout
    assert "assumed; give --row-bytes)" in done.stdout
    assert "9,000 per second" in done.stdout  # 1000 * 500 * 1800 * 1e-5
    assert "those that ship; measure this machine's with: streamjoin advise --calibrate" in done.stdout


def test_json() -> None:
    found = json.loads(advise(*JOIN, "--json").stdout)
    assert found["results_per_second"] == pytest.approx(9000)
    assert found["cores"] == 4


@pytest.mark.parametrize("name", ["sizing.png", "sizing.svg"])
def test_a_picture(tmp_path: Path, name: str) -> None:
    done = advise(*JOIN, f"--plot={tmp_path / name}")
    assert done.exit_code == 0, done.stderr
    start = (tmp_path / name).read_bytes()[:100]
    assert start.startswith(b"\x89PNG") if name.endswith("png") else b"<?xml" in start


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*JOIN, "--plot=sizing.pdf"], "--plot: got sizing.pdf"),
        ([*JOIN, "--tumbling=1 minute"], "expected one window"),
        ([*JOIN, "--rate=fast"], "--rate: got 'fast'"),
        (["--on=l.x = r.x", "--within=1s", "--rate=1", "--range=x"], "--range: got 'x'"),
        (["--within=1s"], "--on is missing"),
        (["--on=l.x = r.x", "--within=1s", "--rate=1"], "-p: how many pairs match is not known; give -p, "),
        (
            [*JOIN[:1], "--rate=1", "-p0.1"],
            "no window: give --within, --between, --tumbling or --last, or time bounds",
        ),
        ([*JOIN[:3], "--range=x=1,9"], "--range: none is given for r.a; "),
        ([*JOIN[:3], "--range=x=1,9"], "such as --range a=1,10000, or the number of its keys"),
        ([*JOIN[1:3], "--on=l.x * r.a < 3", "--range=x=1,9"], "Give -p, or files to sample as --left and --right"),
        ([*JOIN[:2], "-p0.1"], "--rate: expected rows per second"),
        ([*JOIN, "--delay=10"], '\'10\' as a duration; expected text such as "15 minutes", "1 day 2 hours", "5s" or'),
        ([*JOIN, "--left=ja/none"], "--left: there is no file or directory 'ja/none', and it is no schema"),
        ([*JOIN, "--on=l.s = upper(r.s)"], "\nWithout rows all columns are taken to be numbers: give --left"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str) -> None:
    done = advise(*arguments)
    assert done.exit_code in (1, 2)
    assert said in done.stderr


def test_windows_and_ranges_as_they_are_written() -> None:
    on = ["--on=l.sym = r.sym", "--left=sym STRING", "--rate=100", "--range=sym=50", "--json"]
    for window, pairs in {
        ("--within=10s,20s",): 100 * 100 * 30,
        ("--between", "1s", "5s"): 100 * 100 * 4,
        ("--tumbling=1m",): 100 * 100 * 60,
        ("--last=1000",): 2 * 100 * 1000,
        ("--last=100", "--within=60s"): 2 * 100 * 100,
    }.items():
        found = json.loads(advise(*on, *window).stdout)
        assert found["comparisons_per_second"] == pytest.approx(pairs), window
        assert found["p"] == 1 / 50


# Calibration


@contextmanager
def no_spark(console: object) -> Iterator[None]:
    yield None


def test_what_was_measured_is_kept_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(calibrate, "_spark_runs", no_spark)
    monkeypatch.setattr(measured, "measure_kernel", lambda kernel: 2.0)
    done = advise("--calibrate")
    assert done.exit_code == 0, done.output
    constants, said = kept.find_constants("auto")
    assert constants.nested_pair == 2 * SHIPPED.nested_pair
    assert constants.buckets_probe == 2 * SHIPPED.buckets_probe
    assert constants.batch == SHIPPED.batch
    assert said.startswith("this machine's, measured on")
    assert "this machine's" in advise(*JOIN).stdout
    assert "those that ship" in advise(*JOIN, "--shipped").stdout
    assert {path.parent for path in (tmp_path / "cache").rglob("*.json")} == {tmp_path / "cache"}


@pytest.mark.parametrize(
    "content", ["", "[]", f'{{"format": {kept.FORMAT}, "date": "x", "constants": {{"batch": "?"}}}}']
)
def test_constants_that_cannot_be_read_are_not_used(content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = kept.keep_constants(SHIPPED)
    path.write_text(content)
    assert kept.find_constants("auto")[0] == SHIPPED
    assert "are not used" in caplog.text


def test_constants_of_another_format_are_not_used() -> None:
    path = kept.keep_constants(Constants(batch=1.0))
    assert kept.find_constants("auto")[0].batch == 1.0
    path.write_text(path.read_text().replace(f'"format": {kept.FORMAT}', '"format": 0'))
    assert kept.find_constants("auto")[0] == SHIPPED


def test_spark_constants_are_found_again_from_what_trials_would_take() -> None:
    """A machine that is slower by known factors: the fit finds them from the seconds of three trials."""
    slow = Constants(
        batch=2 * SHIPPED.batch,
        **{name: 3 * getattr(SHIPPED, name) for name in measured._IN},
        **{name: 5 * getattr(SHIPPED, name) for name in measured._OUT},
    )
    seconds = {}
    for name, trial in measured.TRIALS.items():
        work = measured.estimate_work(measured.to_copies(measured.Grid(1, 2)), measured.describe_trial(trial), slow)
        seconds[name] = measured.estimate_seconds(measured.STEP, work, 2, slow, cells=2)
    found = measured.fit_spark(SHIPPED, seconds, cores=2)
    for name in ("batch", "row_in", "row_out"):
        assert getattr(found, name) == pytest.approx(getattr(slow, name), rel=0.1), name


def test_a_kernel_is_measured_in_turns_of_what_ships() -> None:
    assert 0.1 < measured.measure_kernel("nested") < 100
