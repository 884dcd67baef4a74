"""What a session loads from Maven to read and write elsewhere: coordinates for each Spark, and settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from streamjoin.errors import StreamJoinError

PACKAGES_SETTING = "spark.jars.packages"
SHIPPED = (
    "com.fasterxml.jackson.core",
    "com.github.luben",
    "org.apache.hadoop",
    "org.apache.logging.log4j",
    "org.apache.parquet",
    "org.slf4j",
    "org.xerial.snappy",
)
"""Groups of libraries that every Spark has: not loaded a second time."""


@dataclass(frozen=True)
class Package:
    """What is loaded, by its coordinates, and what a session is told besides."""

    coordinates: str
    settings: Mapping[str, str] = field(default_factory=dict)


def _find_kafka(release: str) -> Package:
    return Package(f"org.apache.spark:spark-sql-kafka-0-10_2.13:{release}")


def _find_delta(release: str) -> Package:
    version = ".".join(release.split(".")[:2])
    if version not in ("4.0", "4.1", "4.2"):
        raise StreamJoinError(
            f'packages: "delta" is for Spark 4.0 to 4.2, and this is Spark {version}, for which Delta has no release '
            "that was tested"
        )
    return Package(
        f"io.delta:delta-spark_{version}_2.13:4.4.0",
        {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
    )


PACKAGES: dict[str, Callable[[str], Package]] = {"kafka": _find_kafka, "delta": _find_delta}
"""Each by the name that `session` takes; what there is for a release of Spark, all of which have Scala 2.13."""


def find_settings(names: Sequence[str], release: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of a session that has these packages, beside those that are `given`; lists are put together.

    >>> find_settings(["delta"], "4.2.0")["spark.jars.packages"]
    'io.delta:delta-spark_4.2_2.13:4.4.0'
    """
    if isinstance(names, str):
        raise StreamJoinError(
            f"packages: got {names!r}; expected a list of names among {', '.join(map(repr, PACKAGES))}"
        )
    if unknown := [name for name in names if name not in PACKAGES]:
        raise StreamJoinError(f"packages: got {unknown[0]!r}; expected names among {', '.join(map(repr, PACKAGES))}")
    settings = dict(given or {})
    if not names:
        return settings
    found = [PACKAGES[name](release) for name in dict.fromkeys(names)]
    lists = {
        PACKAGES_SETTING: [package.coordinates for package in found],
        "spark.jars.excludes": [f"{group}:*" for group in SHIPPED],
    }
    for package in found:
        for name, value in package.settings.items():
            if name == "spark.sql.extensions":
                lists.setdefault(name, []).append(value)
            else:
                settings.setdefault(name, value)
    for name, values in lists.items():
        own = [value for value in settings.get(name, "").split(",") if value]
        settings[name] = ",".join(dict.fromkeys([*own, *values]))
    return settings
