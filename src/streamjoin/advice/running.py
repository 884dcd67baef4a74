"""A question about a query that runs: rates, hit rate and sizes are those that it reports."""

import statistics
from dataclasses import fields, replace
from typing import Any

from streamjoin.advice.question import Question, Running, find_narrowing, find_width
from streamjoin.errors import StreamJoinError
from streamjoin.model.choice import Machine, estimate_layout
from streamjoin.model.constants import Constants
from streamjoin.model.demand import OVERHEAD_BYTES, Demand
from streamjoin.model.pairs import Sides, find_pair_rate
from streamjoin.spec.side import SIDES


def ask_query(query: Any, name: str, machine: Machine, cores: int | None) -> tuple[Question, Machine, str]:
    """The question, the machine with constants that fit what the query takes, and a sentence on how well they did."""
    from streamjoin.spark.running import observe_query

    observed = observe_query(query, name)
    plan, reports, interval = observed.job.plan, observed.reports, observed.interval
    if plan.reduction is not None:
        raise StreamJoinError(
            f"query: {name!r} reduces what its rows meet (aggregate, asof, sliding_aggregate); expected a join: "
            "the model knows no other. sj.progress(query) tells what it does"
        )
    machine = replace(machine, cores=cores or observed.cores)
    total = {key: sum(getattr(report, key) for report in reports) for key in ("matches", "comparisons", "examined")}
    seconds = interval * len(reports)
    rates = Sides(sum(r.rows_left for r in reports) / seconds, sum(r.rows_right for r in reports) / seconds)
    pairs = find_pair_rate(plan.window, rates) * seconds
    # Windows that still fill hold fewer pairs than the rates say, and the cells count some beyond the window.
    hit_rate = max(total["matches"] / max(count, 1) for count in (pairs, total["comparisons"]))
    found = find_narrowing(plan, hit_rate)
    narrowing = replace(found, candidates=min(max(total["examined"] / max(total["comparisons"], 1), hit_rate), 1.0))
    keys = Sides(*(find_width([key.type for key in plan.keys[side]]) for side in SIDES))
    held = statistics.median(report.state_bytes / max(report.state_rows, 1) for report in reports)
    width = max(held - OVERHEAD_BYTES - (keys.left + keys.right) / 2, 8.0)
    demand = Demand(plan.window, rates, min(hit_rate, 1.0), narrowing, Sides.equal(width), keys, how=plan.how)
    running = Running(observed.job.layout, interval, observed.seconds)
    sources = {
        "rates": f"of the last {len(reports)} micro-batches",
        "p": f"{total['matches']:,} matches found in them",
        "row_bytes": "of its state",
    }
    expected = estimate_layout(running.layout, plan, demand, machine, interval).seconds
    factor = running.seconds / expected
    names = [field.name for field in fields(Constants)]
    fitted = replace(machine, constants=machine.constants.scale(names, factor))
    said = f"scaled by {factor:.2g}, as this query's micro-batches take {running.seconds:.2g} s, not {expected:.2g} s"
    return Question(plan, demand, sources, running), fitted, said
