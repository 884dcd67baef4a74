"""Where ``streamjoin run`` reads and writes, as it is asked for: refused before Spark starts where it cannot be."""

from collections.abc import Mapping
from typing import Any

from streamjoin.cli.inputs import find_table, is_topic
from streamjoin.errors import StreamJoinError
from streamjoin.paths import beneath, to_local

_WRITTEN = ("out", "late", "checkpoint")
_INPUTS = ("left", "right")


def check_places(o: Mapping[str, Any]) -> None:
    """Refuse places that cannot be read or written, or not beside each other; `o` is the command's options."""
    places = {named: o[named] for named in (*_INPUTS, *_WRITTEN) if o[named]}
    for named, path in places.items():
        _check_name(named, path)
    _check_kafka(o, places)
    if (find_table(o["out"]) or is_topic(o["out"])) and not o["checkpoint"]:
        raise StreamJoinError(
            f"--checkpoint: {o['out']} has no directory of its own to keep it in; give --checkpoint PATH"
        )
    for named in _WRITTEN:
        if named in places:
            _check_directory(named, places[named])
    _check_apart(places)


def _check_name(named: str, path: str) -> None:
    """Refuse a topic or table that is not named as one; of a topic first of all, since it may show a password."""
    if is_topic(path):
        from streamjoin.spark.kafka import parse_url

        parse_url(path, f"--{named}")
    if find_table(path) == "":
        raise StreamJoinError(f"--{named}: got {path!r}; expected the name of a table, such as table:db.name")
    if named in ("late", "checkpoint") and (find_table(path) or is_topic(path)):
        raise StreamJoinError(f"--{named}: got {path!r}; expected a directory")


def _check_kafka(o: Mapping[str, Any], places: Mapping[str, str]) -> None:
    """Refuse settings of Kafka's that cannot be read, and an option that is for topics alone."""
    if o["bad"] and not any(is_topic(places[named]) for named in _INPUTS):
        raise StreamJoinError("--bad: is for topics, --left kafka://... or --right kafka://...")
    if o["kafka_config"] or any(map(is_topic, places.values())):
        from streamjoin.spark.kafka import read_config

        read_config(o["kafka_config"])


def _check_directory(named: str, path: str) -> None:
    place = to_local(path)
    if place and place.is_file():
        raise StreamJoinError(f"--{named}: {path} is a file; expected a directory, or nothing there yet")


def _check_apart(places: Mapping[str, str]) -> None:
    """Refuse results and late rows in one place, and either where an input is read."""
    parts = {named: _split_path(path) for named, path in places.items()}
    for written in ("out", "late"):
        for read in _INPUTS:
            if written in parts and parts[written] == parts[read]:
                raise StreamJoinError(
                    f"--{written}: {places[written]} is what --{read} reads; give it a place of its own"
                )
    if "late" in parts:
        (short, long) = sorted((parts["out"], parts["late"]), key=len)
        if long[: len(short)] == short:
            raise StreamJoinError(
                f"--late: {places['late']} and --out {places['out']} are one place, or one lies in the other: their "
                "files would replace each other; give each a directory of its own"
            )


def _split_path(path: str) -> tuple[str, ...]:
    """A place by the names that lead to it, the same for every way in which it is written."""
    local = None if find_table(path) else to_local(path)
    return tuple(beneath(path).split("/")) if local is None else local.resolve().parts
