"""Distances on the globe: the bands lose no pair that the formula accepts, least of all at poles and date line."""

import math
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin.operators.types import Schema
from streamjoin.predicate import Predicate, parse
from streamjoin.predicate.conjunct import Band, Compiled
from tests.unit.match.test_range import find

PLACE = Schema({"lat": "double", "lon": "double", "reach": "double"})
LATITUDES = st.floats(-90, 90) | st.sampled_from([90.0, -90.0, 89.9999, -89.9999, 0.0, 60.0])
LONGITUDES = st.floats(-180, 180) | st.sampled_from([180.0, -180.0, 179.9999, -179.9999, 0.0, 359.0])


PLACES = st.tuples(LATITUDES, LONGITUDES)


def known_distance(a: Any, b: Any) -> float:
    """By the angle between two vectors, another formula."""

    def vector(place: Any) -> tuple[float, float, float]:
        lat, lon = math.radians(place["lat"]), math.radians(place["lon"])
        return math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)

    u, v = vector(a), vector(b)
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    dot = sum(x * y for x, y in zip(u, v, strict=True))
    return sj.geo.EARTH_RADIUS_KM * math.atan2(math.hypot(*cross), dot)


@cache
def near(limit: float) -> Predicate:
    return parse(lambda l, r: sj.geo.distance_km(l.lat, l.lon, r.lat, r.lon) <= limit, PLACE, PLACE)


@given(
    st.tuples(LATITUDES, LONGITUDES), st.tuples(LATITUDES, LONGITUDES), st.sampled_from([0.01, 5.0, 900.0, 15_000.0])
)
@settings(max_examples=100, deadline=None)
def test_the_condition_is_the_distance(a: Any, b: Any, limit: float) -> None:
    first, second = (dict(zip(("lat", "lon"), each, strict=True)) for each in (a, b))
    distance = known_distance(first, second)
    if abs(distance - limit) > 1e-6 * (distance + limit) + 1e-3:
        assert near(limit)(first, second) is (distance <= limit)


@pytest.mark.parametrize(
    ("a", "b", "kilometres"),
    [
        ((52.52, 13.405), (48.8566, 2.3522), 877),  # Berlin, Paris
        ((0.0, 179.99), (0.0, -179.99), 2.2),  # over the date line
        ((89.99, 0.0), (89.99, 180.0), 2.2),  # over the pole
        ((-90.0, 10.0), (-90.0, -77.0), 0.0),  # the pole has any longitude
        ((0.0, 0.0), (0.0, 180.0), 20015),  # half way round
    ],
)
def test_places_that_are_known(a: Any, b: Any, kilometres: float) -> None:
    first, second = (dict(zip(("lat", "lon"), each, strict=True)) for each in (a, b))
    assert known_distance(first, second) == pytest.approx(kilometres, rel=0.02, abs=1e-6)
    assert near(kilometres * 1.02 + 0.001)(first, second) is True
    assert near(kilometres * 0.98 - 0.001)(first, second) is False


STEPS = st.integers(-3, 3)


@given(
    PLACES,
    st.lists(st.tuples(STEPS, STEPS), min_size=1, max_size=6),
    st.sampled_from([0.5, 5.0, 500.0]),
)
@settings(max_examples=30, deadline=None)
def test_an_index_loses_no_pair(place: Any, steps: Any, limit: float) -> None:
    """Places about a limit apart, in every direction."""
    degree = limit / 111.195
    lefts = [{"lat": place[0], "lon": place[1]}]
    rights = [
        {
            "lat": place[0] + degree * up / 2,
            "lon": math.remainder(place[1] + degree * east / 2 / max(math.cos(math.radians(place[0])), 1e-6), 360),
        }
        for up, east in steps
    ]
    whole = near(limit)
    wanted = {(i, j) for (i, l), (j, r) in product(enumerate(lefts), enumerate(rights)) if whole(l, r)}
    bands = tuple(replace(c, check=None) for c in whole.conjuncts if isinstance(c, Band))
    assert len(bands) == 3
    for probe in ("l", "r"):
        assert set(find(replace(whole, conjuncts=bands), "auto", lefts, rights, probe)) >= wanted


def test_the_limit_may_be_a_column_or_a_range() -> None:
    own = parse(lambda l, r: sj.geo.distance_km(l.lat, l.lon, r.lat, r.lon) < l.reach, PLACE, PLACE)
    assert [c.kind for c in own.conjuncts] == ["range", "range", "range", "compiled"]
    ring = parse(lambda l, r: sj.geo.distance_km(l.lat, l.lon, r.lat, r.lon).between(1, 3), PLACE, PLACE)
    here, there = {"lat": 50.0, "lon": 8.0, "reach": 1.0}, {"lat": 50.018, "lon": 8.0}
    assert (own(here, there), own(here | {"reach": 2.5}, there), ring(here, there), ring(here, here)) == (
        *(False, True),
        *(True, False),
    )


def test_beyond_a_limit_no_index_helps() -> None:
    far = parse(lambda l, r: sj.geo.distance_km(l.lat, l.lon, r.lat, r.lon) > 5, PLACE, PLACE)
    assert [type(c) for c in far.conjuncts] == [Compiled]


def test_what_is_no_column_of_a_lambda_is_refused() -> None:
    with pytest.raises(sj.StreamJoinError, match="distance_km takes columns"):
        parse(lambda l, r: sj.geo.distance_km(l.lat, l.lon, 50.0, 8.0) < 5, PLACE, PLACE)
