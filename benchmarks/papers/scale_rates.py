"""ScaleJoin Fig. 5b: the rates that are sustained in windows of 5, 10 and 15 minutes."""

import itertools

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape, compare_speed
from benchmarks.papers.published import SCALE, SCALE_JOIN_RATES
from benchmarks.papers.systems import CORES, find_sustained, measure_comparisons
from streamjoin import Scale
from streamjoin.model.comparisons import find_sustainable_rates
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import within

PUBLISHED = {window: rate for window, rate, speed in SCALE_JOIN_RATES if speed == SCALE["comparisons/s"]}


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(given["windows"]) + 1)
    nested = measure_comparisons(Scale(CORES), CORES, given["rows"], 1000, given["seconds"])["per_s"]
    steps.done("comparisons/s of the nested loop")
    rates = []
    for window in given["windows"]:
        most = given["most_rows"] / window
        rates.append(find_sustained(window, Scale(CORES), CORES, min(given["start"], most), most, given["seconds"]))
        steps.done(f"{window} s")
    return {"cores": CORES, "windows": given["windows"], "nested": nested, "rates": rates}


def _model(found: Data) -> list[float]:
    """Rows/s of both streams that the nested loop would sustain: T_max of section VI."""
    spans = [within(f"{window} seconds") for window in found["windows"]]
    return [2 * find_sustainable_rates(span, Sides(1, 1), found["nested"]).left for span in spans]


def judge(found: Data) -> list[Claim]:
    claims = []
    totals = [2 * each["rate"] for each in found["rates"]]
    for window, total, each, model in zip(found["windows"], totals, found["rates"], _model(found), strict=True):
        what = f"rows/s of both streams, windows of {window} s"
        note = "with an index; model: our nested loop" + (", not taken further" if each["capped"] else "")
        if window in PUBLISHED:
            claims.append(
                compare_speed(
                    what, PUBLISHED[window], total, "1/s", cores=found["cores"], their_cores=48, model=model, note=note
                )
            )
        else:
            claims.append(compare_shape(what, "other windows", f"{total:,.0f}", None, model=model, note=note))
    falls = all(a >= b for a, b in itertools.pairwise(totals))
    capped = any(each["capped"] for each in found["rates"])
    shown = " / ".join(f"{total:,.0f}" for total in totals)
    note = "the search ends where the rows of a window are as many as is allowed" if capped else ""
    claims.append(
        compare_shape("rates over windows", "fall as windows grow", shown, None if capped else falls, note=note)
    )
    return claims


def draw(found: Data) -> list[Chart]:
    windows = found["windows"]
    lines = [
        Line("ours, indexed", windows, [2 * each["rate"] for each in found["rates"]]),
        Line("ours, nested loop (model)", windows, _model(found), "model"),
    ]
    known = [window for window in windows if window in PUBLISHED]
    if known:
        lines.append(Line("paper, 48 cores", known, [PUBLISHED[window] for window in known], "paper"))
    return [Chart("Sustained rate (Fig. 5b)", "window, s", "rows/s, both streams", lines, log_y=True)]


EXPERIMENT = Experiment(
    "scale-rates", "ScaleJoin", "Sustained rates per window (Fig. 5b)",
    "The largest rate that ScaleJoin's threads take as fast as it comes, once windows are full; whole rows.",
    full={"windows": [300, 600, 900], "rows": 100_000, "start": 10_000, "most_rows": 3_000_000, "seconds": 4},
    quick={"windows": [30, 60, 90], "rows": 40_000, "start": 4000, "most_rows": 360_000, "seconds": 0.6},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
