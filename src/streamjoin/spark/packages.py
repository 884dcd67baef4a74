"""Connectors of Spark's by a short name: their Maven coordinates for the Spark that is installed."""

from collections.abc import Callable, Mapping, Sequence

import pyspark

from streamjoin.errors import StreamJoinError

SETTING = "spark.jars.packages"

PACKAGES: dict[str, Callable[[str], str]] = {
    "kafka": lambda release: f"org.apache.spark:spark-sql-kafka-0-10_2.13:{release}",
}
"""For each name the coordinates, given Spark's release; Spark 4 is made for Scala 2.13 alone."""


def find_coordinates(names: Sequence[str], release: str = pyspark.__version__) -> list[str]:
    """The coordinates of packages by name.

    >>> find_coordinates(["kafka"], "4.0.0")
    ['org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0']
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not PACKAGES.keys() >= {*names}:
        raise StreamJoinError(f"packages: got {names!r}; expected a list of names out of {', '.join(PACKAGES)}")
    return [PACKAGES[name](release) for name in names]


def add_packages(conf: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Settings with these packages beside those that they name already.

    >>> add_packages({"spark.jars.packages": "a:b:1"}, ["kafka"])["spark.jars.packages"].split(":")[:3]
    ['a', 'b', '1,org.apache.spark']
    """
    listed = [part.strip() for part in conf.get(SETTING, "").split(",") if part.strip()]
    listed += [wanted for wanted in find_coordinates(names) if wanted not in listed]
    return {**conf, SETTING: ",".join(listed)} if listed else {**conf}


def check_packages(conf: Mapping[str, str], names: Sequence[str]) -> None:
    """Refuse packages that a running session was not started with: Java takes them at no other time."""
    loaded = " ".join(conf.get(name, "") for name in (SETTING, "spark.jars"))
    for name, wanted in zip(names, find_coordinates(names), strict=True):
        if wanted.split(":")[1] not in loaded:
            raise StreamJoinError(
                f"packages: a session runs already, without {name!r} ({wanted}), and cannot take it any more. "
                "End it and its Python process, then start with the package"
            )
