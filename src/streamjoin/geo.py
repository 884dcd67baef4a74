"""Distances on the globe, in conditions that an index serves.

A row is a point on the unit sphere. Two points are at most so far apart only if each of their three coordinates is, by
the length of the chord: three bands, which know neither poles nor a date line. They narrow; the haversine formula
decides.
"""

import math
from decimal import Decimal
from typing import Any

from streamjoin.errors import StreamJoinError
from streamjoin.sql.trace import Traced, sql_value

__all__ = ["EARTH_RADIUS_KM", "distance_km"]

EARTH_RADIUS_KM = 6371.0088
"""The mean radius of the Earth, as the International Union of Geodesy and Geophysics has it."""

_SLACK = 1e-9  # of the chord and of the radius, some millimetres: what rounding moves is a millionth of it


def distance_km(lat1: Traced, lon1: Traced, lat2: Traced, lon2: Traced) -> "Distance":
    """The great-circle distance of two points in degrees, by the haversine formula, inside of a lambda.

    >>> from streamjoin.operators.types import Schema
    >>> from streamjoin.predicate import parse
    >>> place = Schema({"lat": "double", "lon": "double"})
    >>> near = parse(lambda l, r: distance_km(l.lat, l.lon, r.lat, r.lon) <= 5, place, place)
    >>> [conjunct.kind for conjunct in near.conjuncts]
    ['band', 'band', 'band', 'compiled']
    >>> near({"lat": 0.0, "lon": 179.99}, {"lat": 0.0, "lon": -179.99})
    True
    """
    given = (lat1, lon1, lat2, lon2)
    if not all(isinstance(each, Traced) for each in given):
        raise StreamJoinError(
            f"on: distance_km takes columns of a lambda's sides, as in distance_km(l.lat, l.lon, r.lat, r.lon); got "
            f"{given}. Beside functions of pyspark.sql.functions write the formula out"
        )
    return Distance((lat1, lon1), (lat2, lon2))


Point = tuple[Any, Any]
"""Latitude and longitude, as the lambda has them."""


class Distance(Traced):
    """A distance, which to compare with a limit adds the bands that an index needs."""

    __slots__ = ("_points",)

    def __init__(self, first: Point, second: Point) -> None:
        self._points = first, second
        (lat1, lon1), (lat2, lon2) = ((lat.radians(), lon.radians()) for lat, lon in self._points)
        by_lat, by_lon = (((b - a) / 2).sin() ** 2 for a, b in ((lat1, lat2), (lon1, lon2)))
        root = (by_lat + lat1.cos() * lat2.cos() * by_lon).sqrt()
        super().__init__(sql_value(2 * EARTH_RADIUS_KM * root.least(1.0).asin()))

    @property
    def _alone(self) -> Any:
        """The distance as any other expression."""
        return Traced(self._sql)

    def __le__(self, limit: object) -> Any:
        return self._near(limit) & (self._alone <= limit)

    def __lt__(self, limit: object) -> Any:
        return self._near(limit) & (self._alone < limit)

    def between(self, low: object, high: object) -> Any:
        """Whether it lies between two distances, both included."""
        return self._near(high) & self._alone.between(low, high)

    def _near(self, limit: object) -> Any:
        """Whether no coordinate differs by more than the chord of the limit, and a little."""
        chord: Any
        if isinstance(limit, int | float | Decimal):
            chord = 2 * math.sin(min(float(limit) / (2 * EARTH_RADIUS_KM), math.pi / 2)) * (1 + _SLACK) + _SLACK
        else:
            far: Any = Traced(sql_value(limit))
            angle = (far / (2 * EARTH_RADIUS_KM)).least(math.pi / 2)
            chord = angle.sin() * (2 * (1 + _SLACK)) + _SLACK
        x, y, z = (abs(a - b) <= chord for a, b in zip(*map(_on_sphere, self._points), strict=True))
        return x & y & z


def _on_sphere(point: Point) -> tuple[Any, Any, Any]:
    lat, lon = point[0].radians(), point[1].radians()
    return lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()
