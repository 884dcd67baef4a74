"""Every written form and the conjuncts that it becomes.

A conjunct is written `kind: printed form`; `kind~` marks one that only narrows, so that the written condition is
checked after it.
"""

from itertools import chain

import pytest
from hypothesis import given

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.types import INT, STRING, Type
from streamjoin.predicate import parse
from streamjoin.predicate.classify import classify
from streamjoin.predicate.conjunct import Band, Compiled, Conjunct, Equi, Residual
from streamjoin.sql.bind import bind
from tests.conditions.admit import admits
from tests.conditions.schemas import LEFT, RIGHT
from tests.conditions.strategies import PAIRS, conditions

Forms = dict[str, tuple[str, ...]]

EQUI: dict[str, Forms] = {
    "An equality of the two sides is equi for every type that Spark compares.": {
        "l.x = r.a": ("equi: l.x = r.a",),
        "l.big = r.big": ("equi: l.big = r.big",),
        "l.v = r.w": ("equi: l.v = r.w",),
        "l.f = r.f": ("equi: l.f = r.f",),
        "l.wide = r.wide": ("equi: l.wide = r.wide",),
        "l.name = r.name": ("equi: l.name = r.name",),
        "l.raw = r.raw": ("equi: l.raw = r.raw",),
        "l.ok = r.fine": ("equi: l.ok = r.fine",),
        "l.d = r.d": ("equi: l.d = r.d",),
        "l.ts = r.ts": ("equi: l.ts = r.ts",),
        "l.tn = r.tn": ("equi: l.tn = r.tn",),
        "l.iv = r.iv": ("equi: l.iv = r.iv",),
    },
    "Sides may be swapped, written with == and put into parentheses.": {
        "r.a = l.x": ("equi: r.a = l.x",),
        "l.x == r.a": ("equi: l.x = r.a",),
        "((l.x) = (r.a))": ("equi: l.x = r.a",),
    },
    "Different types meet in the type in which Spark compares them.": {
        "l.big = r.a": ("equi: l.big = r.a",),
        "l.small = r.tiny": ("equi: l.small = r.tiny",),
        "l.x = r.w": ("equi: l.x = r.w",),
        "l.f = r.w": ("equi: l.f = r.w",),
        "l.x = r.f": ("equi: l.x = r.f",),
        "l.m = r.n": ("equi: l.m = r.n",),
        "l.x = r.n": ("equi: l.x = r.n",),
        "l.v = r.n": ("equi: l.v = r.n",),
        "l.d = r.ts": ("equi: l.d = r.ts",),
        "l.tn = r.ts": ("equi: l.tn = r.ts",),
        "l.tn = r.d": ("equi: l.tn = r.d",),
    },
    "Fields of structs are columns.": {
        "l.pos.lat = r.pos.lat": ("equi: l.pos.lat = r.pos.lat",),
        "l.pos.cell.id = r.a": ("equi: l.pos.cell.Id = r.a",),
    },
    "The null-safe equality is equi too.": {
        "l.x <=> r.a": ("equi: l.x <=> r.a",),
        "r.name <=> l.name": ("equi: r.name <=> l.name",),
        "l.x IS NOT DISTINCT FROM r.a": ("equi: l.x <=> r.a",),
    },
    "Either side may be any expression of its own columns.": {
        "l.x + 1 = r.a * 2": ("equi: l.x + 1 = r.a * 2",),
        "l.x + l.y = r.a - r.b": ("equi: l.x + l.y = r.a - r.b",),
        "l.x % 10 = r.a": ("equi: l.x % 10 = r.a",),
        "abs(l.x) = abs(r.a)": ("equi: abs(l.x) = abs(r.a)",),
        "floor(l.v / 10) = floor(r.w / 10)": ("equi: floor(l.v / 10) = floor(r.w / 10)",),
        "CAST(l.name AS INT) = r.a": ("equi: CAST(l.name AS INT) = r.a",),
        "TRY_CAST(l.name AS INT) = r.a": ("equi: TRY_CAST(l.name AS INT) = r.a",),
        "coalesce(l.x, 0) = r.a": ("equi: coalesce(l.x, 0) = r.a",),
        "CASE WHEN l.x > 0 THEN l.x ELSE -l.x END = r.a": ("equi: CASE WHEN l.x > 0 THEN l.x ELSE -l.x END = r.a",),
        "l.ts + INTERVAL 1 DAY = r.ts": ("equi: l.ts + INTERVAL '1' DAY = r.ts",),
        "l.ok = (r.a > 0)": ("equi: l.ok = (r.a > 0)",),
    },
    "AND of equalities is a composite key; NOT is moved down to the comparisons.": {
        "l.x = r.a AND l.name = r.name AND l.d = r.d": (
            "equi: l.x = r.a",
            "equi: l.name = r.name",
            "equi: l.d = r.d",
        ),
        "NOT l.x <> r.a": ("equi: l.x = r.a",),
        "NOT NOT l.x = r.a": ("equi: l.x = r.a",),
        "NOT (l.x <> r.a OR NOT l.y = r.b)": ("equi: l.x = r.a", "equi: l.y = r.b"),
    },
}

BANDS: dict[str, Forms] = {
    "abs of a difference bounds it on both ends.": {
        "abs(l.x - r.a) <= 10": ("band: -10 <= l.x - r.a <= 10",),
        "abs(r.a - l.x) <= 10": ("band: -10 <= l.x - r.a <= 10",),
        "10 >= abs(l.x - r.a)": ("band: -10 <= l.x - r.a <= 10",),
        "abs(l.x - r.a) < 10": ("band: -10 < l.x - r.a < 10",),
        "abs((l.x - r.a)) <= 5 + 5": ("band: -10 <= l.x - r.a <= 10",),
        "abs(l.x - r.a - 3) <= 10": ("band: -7 <= l.x - r.a <= 13",),
        "abs(l.x - r.a) <= -1": ("band: 1 <= l.x - r.a <= -1",),
    },
    "BETWEEN does, whichever side it is about.": {
        "l.x BETWEEN r.a - 10 AND r.a + 10": ("band: -10 <= l.x - r.a <= 10",),
        "r.a BETWEEN l.x - 10 AND l.x + 5": ("band: -5 <= l.x - r.a <= 10",),
        "l.x - r.a BETWEEN -10 AND 10": ("band: -10 <= l.x - r.a <= 10",),
        "l.x BETWEEN r.a AND r.a + 10": ("band: 0 <= l.x - r.a <= 10",),
    },
    "Two inequalities about one difference are one band, in any order, strict or not.": {
        "l.x >= r.a - 10 AND l.x <= r.a + 10": ("band: -10 <= l.x - r.a <= 10",),
        "l.x > r.a - 10 AND l.x < r.a + 10": ("band: -10 < l.x - r.a < 10",),
        "l.x >= r.a - 10 AND l.x < r.a + 20": ("band: -10 <= l.x - r.a < 20",),
        "r.a + 10 >= l.x AND r.a - 10 <= l.x": ("band: -10 <= l.x - r.a <= 10",),
        "l.x <= r.a + 10 AND l.x <= r.a + 5": ("band: l.x - r.a <= 5",),
        "l.x <= r.a + 10 AND l.x < r.a + 10": ("band: l.x - r.a < 10",),
        "l.x >= r.a AND l.x > r.a": ("band: 0 < l.x - r.a",),
        "l.x <= r.a + 10 AND l.y >= r.a - 10 AND l.x >= r.a - 10": (
            "band: -10 <= l.x - r.a <= 10",
            "band: -10 <= l.y - r.a",
        ),
    },
    "One inequality bounds one end; a constant may stand anywhere.": {
        "l.x <= r.a": ("band: l.x - r.a <= 0",),
        "l.x >= r.a": ("band: 0 <= l.x - r.a",),
        "r.a > l.x": ("band: l.x - r.a < 0",),
        "10 > l.x - r.a": ("band: l.x - r.a < 10",),
        "-10 < l.x - r.a": ("band: -10 < l.x - r.a",),
        "l.x - r.a - 10 <= 0": ("band: l.x - r.a <= 10",),
        "0 <= 10 - (l.x - r.a)": ("band: l.x - r.a <= 10",),
        "l.x - (r.a + 4) > 5": ("band: 9 < l.x - r.a",),
        "(l.x + 3) - (r.a + 4) <= 5": ("band: l.x - r.a <= 6",),
        "((l.x) <= ((r.a) + (10)))": ("band: l.x - r.a <= 10",),
    },
    "Signs and whole factors are divided out.": {
        "-(l.x - r.a) <= 5": ("band: -5 <= l.x - r.a",),
        "-(r.a - l.x) < 5": ("band: l.x - r.a < 5",),
        "2 * (l.x - r.a) <= 10": ("band: l.x - r.a <= 5",),
        "(l.x - r.a) * 4 < 10": ("band: l.x - r.a < 2.5",),
        "-2 * (l.x - r.a) <= 10": ("band: -5 <= l.x - r.a",),
    },
    "The parts of each side may be expressions.": {
        "2 * l.x - 2 * r.a <= 10": ("band: 2 * l.x - 2 * r.a <= 10",),
        "l.x * 2 <= r.a * 3 + 1": ("band: l.x * 2 - r.a * 3 <= 1",),
        "l.x + l.y - r.a <= 10": ("band: l.x + l.y - r.a <= 10",),
        "l.x + l.y <= r.a + r.b": ("band: l.x + l.y - (r.a + r.b) <= 0",),
        "l.pos.lat - r.pos.lat <= 0.5": ("band~: l.pos.lat - r.pos.lat <= 0.5",),
        "l.v <= r.w + CAST('NaN' AS DOUBLE)": ("band~: l.v - (r.w + CAST('NaN' AS DOUBLE)) <= 0",),
    },
    "An equality of mixed sides is a band of no width.": {
        "l.x - r.a = 5": ("band: 5 <= l.x - r.a <= 5",),
        "0 = l.x - r.a - 5": ("band: 5 <= l.x - r.a <= 5",),
        "l.v - r.w = 0.5": ("band~: 0.5 <= l.v - r.w <= 0.5",),
    },
    "Whole numbers of any width, against decimal constants too, decide; a double constant rounds.": {
        "l.big <= r.a + 5": ("band: l.big - r.a <= 5",),
        "l.big - r.big <= 5000000000": ("band: l.big - r.big <= 5000000000",),
        "l.small - r.tiny <= 5": ("band: l.small - r.tiny <= 5",),
        "l.x <= r.a + 10.5": ("band: l.x - r.a <= 10.5",),
        "l.x - r.a <= 10.0": ("band: l.x - r.a <= 10",),
        "abs(l.x - r.a) <= 1.5": ("band: -1.5 <= l.x - r.a <= 1.5",),
        "l.x <= r.a + 10.5D": ("band~: l.x - r.a <= 10.5",),
    },
    "Floating values round in their own way, so their bands only narrow.": {
        "abs(l.v - r.w) <= 0.1": ("band~: -0.1 <= l.v - r.w <= 0.1",),
        "l.v BETWEEN r.w - 0.1 AND r.w + 0.1": ("band~: -0.1 <= l.v - r.w <= 0.1",),
        "l.v >= r.w - 0.1 AND l.v < r.w + 0.2": ("band~: -0.1 <= l.v - r.w < 0.2",),
        "l.v - r.w <= 1e-3": ("band~: l.v - r.w <= 0.001",),
        "l.f - r.f <= 0.5": ("band~: l.f - r.f <= 0.5",),
        "abs(l.f - r.f) <= 0.5F": ("band~: -0.5 <= l.f - r.f <= 0.5",),
        "l.f <= r.w": ("band~: l.f - r.w <= 0",),
        "l.x <= r.w": ("band~: l.x - r.w <= 0",),
        "l.big <= r.w + 1": ("band~: l.big - r.w <= 1",),
    },
    "A sum of floating values is a difference to the negated one.": {
        "l.v + r.w <= 10": ("band~: l.v - -r.w <= 10",),
        "10 = l.v + r.w": ("band~: 10 <= l.v - -r.w <= 10",),
    },
    "Decimals are exact.": {
        "abs(l.m - r.n) <= 0.05": ("band: -0.05 <= l.m - r.n <= 0.05",),
        "l.m - r.n < 1": ("band: l.m - r.n < 1",),
        "l.m <= r.a + 2": ("band: l.m - r.a <= 2",),
    },
    "Dates differ by days.": {
        "l.d <= r.d": ("band: l.d - r.d <= 0 days",),
        "l.d - r.d <= INTERVAL 3 DAYS": ("band: l.d - r.d <= 3 days",),
        "l.d BETWEEN r.d - 3 AND r.d + 3": ("band: -3 days <= l.d - r.d <= 3 days",),
        "l.d BETWEEN date_sub(r.d, 3) AND date_add(r.d, 3)": ("band: -3 days <= l.d - r.d <= 3 days",),
        "l.d < r.d + INTERVAL 1 WEEK": ("band: l.d - r.d < 7 days",),
        "datediff(l.d, r.d) <= 3": ("band: l.d - r.d <= 3 days",),
        "abs(datediff(l.d, r.d)) <= 3": ("band: -3 days <= l.d - r.d <= 3 days",),
        "datediff(r.d, l.d) BETWEEN 0 AND 7": ("band: -7 days <= l.d - r.d <= 0 days",),
    },
    "Times differ by durations, however the INTERVAL is written.": {
        "l.ts <= r.ts": ("band: l.ts - r.ts <= 0 seconds",),
        "l.ts BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts": ("band: -5 minutes <= l.ts - r.ts <= 0 seconds",),
        "l.ts >= r.ts - INTERVAL '5' MINUTE": ("band: -5 minutes <= l.ts - r.ts",),
        "l.ts < r.ts + INTERVAL '90 seconds'": ("band: l.ts - r.ts < 1 minute 30 seconds",),
        "l.ts < r.ts - INTERVAL -5 MINUTES": ("band: l.ts - r.ts < 5 minutes",),
        "l.ts <= r.ts + INTERVAL 1 HOUR + INTERVAL 30 MINUTES": ("band: l.ts - r.ts <= 1 hour 30 minutes",),
        "r.ts >= l.ts AND r.ts <= l.ts + INTERVAL 10 SECONDS": ("band: -10 seconds <= l.ts - r.ts <= 0 seconds",),
        "l.tn BETWEEN r.tn - INTERVAL 5 MINUTES AND r.tn": ("band: -5 minutes <= l.tn - r.tn <= 0 seconds",),
        "l.tn - r.tn < INTERVAL 2 DAYS": ("band: l.tn - r.tn < 2 days",),
        "abs(l.tn - r.tn) <= INTERVAL 250 MILLISECONDS": (
            "band: -250 milliseconds <= l.tn - r.tn <= 250 milliseconds",
        ),
    },
    "Days between zoned times depend on the session's zone, so their bands only narrow.": {
        "l.ts <= r.ts + INTERVAL 1 DAY": ("band~: l.ts - r.ts <= 1 day",),
        "l.ts <= r.ts + INTERVAL 24 HOURS": ("band~: l.ts - r.ts <= 1 day",),
        "l.ts - r.ts <= INTERVAL 5 MINUTES": ("band~: l.ts - r.ts <= 5 minutes",),
        "abs(l.ts - r.ts) <= INTERVAL 5 MINUTES": ("band~: -5 minutes <= l.ts - r.ts <= 5 minutes",),
    },
    "What Spark computes on one side alone is a key like any other: casts, months, an interval column.": {
        "l.ts <= r.d": ("band: l.ts - r.d <= 0 seconds",),
        "l.tn <= r.ts": ("band: l.tn - r.ts <= 0 seconds",),
        "l.ts <= r.d + INTERVAL 6 HOURS": ("band: l.ts - (r.d + INTERVAL '6' HOURS) <= 0 seconds",),
        "l.ts - INTERVAL 1 MONTH <= r.ts": ("band: l.ts - INTERVAL '1' MONTH - r.ts <= 0 seconds",),
        "l.ts <= r.ts + r.iv": ("band: l.ts - (r.ts + r.iv) <= 0 seconds",),
    },
    "Intervals differ like numbers.": {
        "l.iv < r.iv": ("band: l.iv - r.iv < 0",),
    },
    "NOT is moved down to the comparisons.": {
        "NOT (l.x > r.a + 10)": ("band: l.x - r.a <= 10",),
        "NOT (l.x < r.a - 10 OR l.x > r.a + 10)": ("band: -10 <= l.x - r.a <= 10",),
        "NOT (l.x - r.a NOT BETWEEN -10 AND 10)": ("band: -10 <= l.x - r.a <= 10",),
    },
}

ONE_SIDED: dict[str, Forms] = {
    "A condition on one side alone is one-sided, whatever it uses.": {
        "l.x > 5 AND l.x = r.a": ("one-sided: l.x > 5", "equi: l.x = r.a"),
        "l.x = r.a AND r.b IS NOT NULL": ("equi: l.x = r.a", "one-sided: r.b IS NOT NULL"),
        "l.x = r.a AND l.name LIKE 'a%'": ("equi: l.x = r.a", "one-sided: (l.name LIKE 'a%')"),
        "l.x = r.a AND l.x < l.y": ("equi: l.x = r.a", "one-sided: l.x < l.y"),
        "l.x = r.a AND r.fine": ("equi: l.x = r.a", "one-sided: r.fine"),
        "l.x = r.a AND NOT l.ok": ("equi: l.x = r.a", "one-sided: NOT l.ok"),
        "l.x = r.a AND l.x IN (1, 2)": ("equi: l.x = r.a", "one-sided: l.x IN (1, 2)"),
        "l.x = r.a AND l.x BETWEEN 1 AND 5": ("equi: l.x = r.a", "one-sided: l.x >= 1", "one-sided: l.x <= 5"),
        "l.x = r.a AND (l.x > 0 OR l.y > 0)": ("equi: l.x = r.a", "one-sided: l.x > 0 OR l.y > 0"),
        "l.x = r.a AND my_udf(l.v) > 3": ("equi: l.x = r.a", "one-sided: my_udf(l.v) > 3"),
        "l.x > 0 AND r.a > 0": ("one-sided: l.x > 0", "one-sided: r.a > 0"),
    },
}

HAVERSINE = (
    "2 * 6371 * asin(sqrt(pow(sin(radians(l.pos.lat - r.pos.lat) / 2), 2) + "
    "cos(radians(l.pos.lat)) * cos(radians(r.pos.lat)) * pow(sin(radians(l.pos.lon - r.pos.lon) / 2), 2))) <= 10"
)

COMPILED: dict[str, Forms] = {
    "Other comparisons of numbers are compiled: distances on the plane and on the globe.": {
        "sqrt(pow(l.v - r.w, 2) + pow(l.f - r.f, 2)) < 5": (
            "compiled: sqrt(pow(l.v - r.w, 2) + pow(l.f - r.f, 2)) < 5",
        ),
        HAVERSINE: (f"compiled: {HAVERSINE}",),
        "l.v * (r.w - l.v) > 1": ("compiled: l.v * (r.w - l.v) > 1",),
        "sign(l.v - r.w) = 1": ("compiled: sign(l.v - r.w) = 1",),
    },
    "Inequality, and what only looks like a band.": {
        "l.x <> r.a": ("compiled: l.x <> r.a",),
        "NOT l.x = r.a": ("compiled: l.x <> r.a",),
        "NOT l.x <=> r.a": ("compiled: NOT l.x <=> r.a",),
        "l.x IS DISTINCT FROM r.a": ("compiled: NOT l.x <=> r.a",),
        "abs(l.x - r.a) > 10": ("compiled: abs(l.x - r.a) > 10",),
        "abs(l.x - r.a) = 10": ("range~: abs(l.x - r.a) = 10",),
        "abs(l.x - r.a) <= r.b": ("range~: abs(l.x - r.a) <= r.b",),
        "l.x - r.a NOT BETWEEN -10 AND 10": ("compiled: l.x - r.a < -10 OR l.x - r.a > 10",),
        "l.x + r.a < 10": ("compiled: l.x + r.a < 10",),
        "l.x * r.a > 5": ("compiled: l.x * r.a > 5",),
        "l.x - r.a - l.x <= 10": ("compiled: l.x - r.a - l.x <= 10",),
        "0 * (l.x - r.a) <= 10": ("compiled: 0 * (l.x - r.a) <= 10",),
        "l.v - r.w <= CAST('NaN' AS DOUBLE)": ("compiled: l.v - r.w <= CAST('NaN' AS DOUBLE)",),
        "l.v + 1e308 <= r.w": ("compiled: l.v + 1e308 <= r.w",),  # may become infinite on the way
    },
    "OR, CASE, IN over both sides, tests of a condition.": {
        "l.x = r.a OR l.y = r.b": ("compiled: l.x = r.a OR l.y = r.b",),
        "l.x > 5 OR r.a > 5": ("compiled: l.x > 5 OR r.a > 5",),
        "l.x = r.a OR l.name = 'any'": ("compiled: l.x = r.a OR l.name = 'any'",),
        "NOT (l.x = r.a AND l.y = r.b)": ("compiled: l.x <> r.a OR l.y <> r.b",),
        "l.ok AND r.fine OR l.x = r.a": ("compiled: l.ok AND r.fine OR l.x = r.a",),
        "if(r.a = 0, false, l.x / r.a > 2)": ("compiled: CASE WHEN r.a = 0 THEN FALSE ELSE l.x / r.a > 2 END",),
        "CASE r.a WHEN 0 THEN false ELSE l.x / r.a > 2 END": (
            "compiled: CASE WHEN r.a = 0 THEN FALSE ELSE l.x / r.a > 2 END",
        ),
        "l.x IN (r.a, r.b)": ("compiled: l.x IN (r.a, r.b)",),
        "l.x NOT IN (r.a, 7)": ("compiled: l.x NOT IN (r.a, 7)",),
        "(l.x = r.a) IS NOT TRUE": ("compiled: NOT (l.x = r.a) IS TRUE",),
        "(l.x < r.a) = (l.y < r.b)": ("compiled: (l.x < r.a) = (l.y < r.b)",),
        "(l.x + r.a) IS NULL": ("compiled: (l.x + r.a) IS NULL",),
    },
    "Functions and remainders of both sides.": {
        "l.x % r.a = 0": ("compiled: l.x % r.a = 0",),
        "mod(l.x, r.a) = 0": ("compiled: l.x % r.a = 0",),
        "pmod(l.x, r.a) = 1": ("compiled: pmod(l.x, r.a) = 1",),
        "l.x div r.a = 2": ("compiled: l.x div r.a = 2",),
        "coalesce(l.x, r.a) > 5": ("compiled: coalesce(l.x, r.a) > 5",),
        "greatest(l.v, r.w) < 1.5D": ("compiled: greatest(l.v, r.w) < 1.5D",),
        "CAST(l.x + r.a AS DOUBLE) / 2 > 3": ("compiled: CAST(l.x + r.a AS DOUBLE) / 2 > 3",),
    },
    "Whole numbers against a decimal constant are compared as whole numbers.": {
        "l.x * r.a <= 10.5": ("compiled: l.x * r.a <= 10",),
        "l.x * r.a > 10.5": ("compiled: l.x * r.a > 10",),
        "l.x * r.a >= -10.5": ("compiled: l.x * r.a >= -10",),
        "10.5 > l.x * r.a": ("compiled: l.x * r.a < 11",),
        "l.x * r.a < 3.0": ("compiled: l.x * r.a < 3",),
    },
    "Times where no zone is asked for.": {
        "l.tn + INTERVAL 1 HOUR <> r.tn": ("compiled: l.tn + INTERVAL '1' HOUR <> r.tn",),
        "least(l.ts, r.ts) = l.ts": ("compiled: least(l.ts, r.ts) = l.ts",),
        "least(l.ts, r.ts) < TIMESTAMP '2020-01-01 00:00:00Z'": (
            "compiled: least(l.ts, r.ts) < TIMESTAMP '2020-01-01 00:00:00Z'",
        ),
        "l.ts <> r.d": ("compiled: l.ts <> r.d",),
        "l.d - r.a <= DATE '2024-01-01'": ("compiled: l.d - r.a <= DATE '2024-01-01'",),
    },
}

RESIDUAL: dict[str, Forms] = {
    "Strings, but for their equality.": {
        "l.name LIKE r.name": ("residual: (l.name LIKE r.name)",),
        "l.name NOT LIKE concat(r.name, '%')": ("residual: NOT (l.name LIKE concat(r.name, '%'))",),
        "l.name RLIKE r.name": ("residual: (l.name RLIKE r.name)",),
        "levenshtein(l.name, r.name) < 3": ("residual: levenshtein(l.name, r.name) < 3",),
        "l.name < r.name": ("residual: l.name < r.name",),
        "l.name <> r.name": ("residual: l.name <> r.name",),
        "l.name || r.name = 'ab'": ("residual: (l.name || r.name) = 'ab'",),
        "l.name = r.name OR l.x = r.a": ("residual: l.name = r.name OR l.x = r.a",),
        "l.name IN (r.name, 'x')": ("residual: l.name IN (r.name, 'x')",),
        "l.name = r.d": ("residual: l.name = r.d",),
    },
    "Arrays, structs, maps, tuples, bits, functions that only Spark knows.": {
        "array_contains(l.tags, r.a)": ("residual: array_contains(l.tags, r.a)",),
        "exists(l.tags, t -> t > r.a)": ("residual: exists(l.tags, t -> t > r.a)",),
        "l.tags[0] = r.a": ("residual: l.tags[0] = r.a",),
        "l.props['k'] = r.a": ("residual: l.props['k'] = r.a",),
        "l.tags < r.tags": ("residual: l.tags < r.tags",),
        "l.tags = r.tags": ("residual: l.tags = r.tags",),
        "l.pos = r.pos": ("residual: l.pos = r.pos",),
        "(l.x, l.y) = (r.a, r.b)": ("residual: ((l.x, l.y)) = ((r.a, r.b))",),
        "l.x & r.a = 1": ("compiled: l.x & r.a = 1",),
        "l.x <= r.a + NULL": ("residual: l.x <= r.a + NULL",),
        "my_udf(l.x, r.a)": ("residual: my_udf(l.x, r.a)",),
        "my_udf(l.x) = r.a": ("residual: my_udf(l.x) = r.a",),
        "My_Udf(l.x) = other.fn(r.a)": ("residual: My_Udf(l.x) = (other.fn(r.a))",),
    },
    "Arithmetic on decimals of both sides, beyond differences.": {
        "l.m * r.n > 5": ("residual: l.m * r.n > 5",),
        "l.m = r.n OR l.x = r.a": ("residual: l.m = r.n OR l.x = r.a",),
        "l.x * r.a = 10.5": ("residual: l.x * r.a = 10.5",),
        "l.wide - r.wide <= 1": ("residual: l.wide - r.wide <= 1",),
    },
    "What depends on the session's zone and is no bound.": {
        "l.ts - r.ts <> INTERVAL 1 HOUR": ("residual: l.ts - r.ts <> INTERVAL '1' HOUR",),
        "least(l.ts, r.ts) < TIMESTAMP '2020-01-01 00:00:00'": (
            "residual: least(l.ts, r.ts) < TIMESTAMP '2020-01-01 00:00:00'",
        ),
    },
}

CONSTANTS: dict[str, Forms] = {
    "A part that is always true is left out; any other constant is kept.": {
        "true": (),
        "1 = 1": (),
        "1 = 1 AND l.x = r.a": ("equi: l.x = r.a",),
        "l.x = r.a AND NOT false": ("equi: l.x = r.a",),
        "false": ("compiled: FALSE",),
        "NULL": ("compiled: NULL",),
        "l.x = r.a AND 1 = 2": ("equi: l.x = r.a", "compiled: 1 = 2"),
        "1 / 0 > 1": ("compiled: 1 / 0 > 1",),
        "'a' = 'b'": ("residual: 'a' = 'b'",),
        "my_udf(3)": ("residual: my_udf(3)",),
    },
}

MIXED: dict[str, Forms] = {
    "A condition of every kind.": {
        "l.x = r.a AND abs(l.v - r.w) <= 0.5 AND l.y > 0 AND l.y <> r.b AND l.name LIKE r.name": (
            "equi: l.x = r.a",
            "band~: -0.5 <= l.v - r.w <= 0.5",
            "one-sided: l.y > 0",
            "compiled: l.y <> r.b",
            "residual: (l.name LIKE r.name)",
        ),
        "l.name = r.name AND l.ts BETWEEN r.ts - INTERVAL 1 MINUTE AND r.ts AND l.v > r.w": (
            "equi: l.name = r.name",
            "band: -1 minute <= l.ts - r.ts <= 0 seconds",
            "band~: 0 < l.v - r.w",
        ),
        "r.a <> 0 AND l.x / r.a > 2": ("one-sided: r.a <> 0", "compiled: l.x / r.a > 2"),
    },
}

FORMS = [
    pytest.param(text, expected, id=text)
    for groups in (EQUI, BANDS, ONE_SIDED, COMPILED, RESIDUAL, CONSTANTS, MIXED)
    for text, expected in chain.from_iterable(forms.items() for forms in groups.values())
]


def described(conjunct: Conjunct) -> str:
    return f"{conjunct.kind}{'' if getattr(conjunct, 'decides', True) else '~'}: {conjunct}"


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_a_written_form_becomes_its_conjuncts(text: str, expected: tuple[str, ...]) -> None:
    assert tuple(map(described, parse(text, LEFT, RIGHT).conjuncts)) == expected


def test_spark_tells_the_types_of_its_own_functions() -> None:
    asked: list[str] = []

    def typeof(sql: str) -> Type | None:
        asked.append(sql)
        return {"initcap(l.name)": STRING, "soundex_code(r.name)": INT}.get(sql)

    text = "initcap(l.name) = r.name AND l.x <= soundex_code(r.name) AND my_udf(l.x, r.a)"
    conjuncts = parse(text, LEFT, RIGHT, typeof).conjuncts
    assert list(map(described, conjuncts)) == [
        "equi: initcap(l.name) = r.name",
        "band: l.x - soundex_code(r.name) <= 0",
        "residual: my_udf(l.x, r.a)",
    ]
    assert asked == ["initcap(l.name)", "soundex_code(r.name)", "my_udf(l.x, r.a)"]


# Keys


def keys(text: str) -> dict[str, str]:
    predicate = parse(text, LEFT, RIGHT)
    return {f"{key.name} {key.type}": key.sql() for side in ("l", "r") for key in predicate.keys(side)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "l.x = r.a AND abs(l.v - r.w) <= 0.5 AND l.x < r.a + 3",
            {"_l0 int": "l.x", "_l1 double": "l.v", "_r0 int": "r.a", "_r1 double": "r.w"},
            id="equal keys are shared, numbered as they are met",
        ),
        pytest.param(
            "l.x = r.a AND l.x = r.big AND l.x = r.w",
            {
                "_l0 int": "l.x",
                "_l1 bigint": "CAST(l.x AS BIGINT)",
                "_l2 double": "CAST(l.x AS DOUBLE)",
                "_r0 int": "r.a",
                "_r1 bigint": "r.big",
                "_r2 double": "r.w",
            },
            id="one column in several types is several keys",
        ),
        pytest.param(
            "l.m = r.n AND l.d = r.ts AND l.tn <= r.ts",
            {
                "_l0 decimal(12,4)": "CAST(l.m AS DECIMAL(12,4))",
                "_l1 timestamp": "CAST(l.d AS TIMESTAMP)",
                "_l2 timestamp": "CAST(l.tn AS TIMESTAMP)",
                "_r0 decimal(12,4)": "r.n",
                "_r1 timestamp": "r.ts",
            },
            id="a key is cast to the type of the comparison",
        ),
        pytest.param(
            "l.x + l.y = r.a * 2 AND upper(l.name) = 'A' AND l.v * sqrt(r.w + 1) < 3",
            {
                "_l0 int": "l.x + l.y",
                "_l1 boolean": "upper(l.name) = 'A'",
                "_l2 double": "l.v",
                "_r0 int": "r.a * 2",
                "_r1 double": "sqrt(r.w + 1)",
            },
            id="whatever one side alone computes is computed before the join",
        ),
        pytest.param(
            "l.`only left` = r.a AND l.pos.cell.id = r.b AND l.tags = r.tags",
            {
                "_l0 int": "l.`only left`",
                "_l1 int": "l.pos.cell.Id",
                "_r0 int": "r.a",
                "_r1 int": "r.b",
            },
            id="names are quoted, fields keep the schema's spelling",
        ),
        pytest.param("l.name LIKE r.name", {}, id="a residual condition has none"),
    ],
)
def test_one_sided_expressions_become_keys(text: str, expected: dict[str, str]) -> None:
    assert keys(text) == expected


def test_a_key_is_written_over_columns_of_any_name() -> None:
    (key,) = parse("l.x + 1 = r.w", LEFT, RIGHT).keys("l")
    assert key.sql(lambda column: f"source.{column.path[0]}") == "CAST(source.x + 1 AS DOUBLE)"
    assert key.side == "l"


@pytest.mark.parametrize(
    ("text", "computed"),
    [
        # Behind a guard, what may raise is computed pair by pair: its columns are the keys.
        ("CASE WHEN r.a <> 0 THEN 10 div r.big > l.x ELSE false END", ["r.a <> 0", "r.big", "CAST(l.x AS BIGINT)"]),
        ("l.x < r.a OR l.x + 1 > r.b", ["l.x", "r.a", "r.b"]),
        ("coalesce(l.x, r.a + 1) > 5", ["l.x", "r.a"]),
        ("l.x <> r.a OR CAST(l.v AS INT) = r.b", ["l.x", "r.a", "l.v", "r.b"]),
        ("l.x <> r.a OR l.x + 1 > 5", ["l.x", "r.a"]),
        # What cannot raise is computed ahead, and so is what stands before the guard.
        ("l.v <> r.w OR l.v + 1 > r.w", ["l.v", "r.w", "l.v + 1"]),
        ("l.x + 1 > r.b OR l.x <> r.a", ["l.x + 1", "r.b", "l.x", "r.a"]),
    ],
)
def test_a_guard_comes_before_what_may_raise(text: str, computed: list[str]) -> None:
    (conjunct,) = parse(text, LEFT, RIGHT).conjuncts
    assert isinstance(conjunct, Compiled)
    assert [key.sql() for key in conjunct.keys] == computed


# Properties


def conjunction(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


@given(conditions(2), PAIRS)
def test_the_conjuncts_together_are_the_condition(text: str, pairs: list[tuple[dict, dict]]) -> None:
    condition = bind(text, LEFT, RIGHT)
    conjuncts = classify(condition)
    for left, right in pairs:
        try:
            parts = [evaluate(conjunct.exact, left, right) for conjunct in conjuncts]
            whole = evaluate(condition, left, right)
        except EvaluationError:
            continue  # where Spark raises there is no result to compare
        assert conjunction(parts) is whole
        for conjunct, holds in zip(conjuncts, parts, strict=True):
            if isinstance(conjunct, Equi | Band):
                admitted = admits(conjunct, *(evaluate(key, left, right) for key in conjunct.keys))
                assert admitted is (holds is True) if conjunct.decides else admitted or not holds


def test_what_never_raises_needs_no_guard() -> None:
    def typeof(_: str) -> Type:
        return INT

    text = "l.x = r.a OR hour(l.ts) = EXTRACT(HOUR FROM r.ts) OR size(l.tags) < r.a"
    (conjunct,) = parse(text, LEFT, RIGHT, typeof).conjuncts
    assert isinstance(conjunct, Compiled)
    (conjunct,) = parse("l.x = r.a OR hour(l.ts) = my_udf(r.a)", LEFT, RIGHT, typeof).conjuncts
    assert isinstance(conjunct, Residual)
