"""The two sides that the predicate tests speak of: a column of every type, some names on both sides."""

from streamjoin.operators.types import DOUBLE, INT, Schema, Type

POSITION = Type("struct", fields=(("lat", DOUBLE), ("lon", DOUBLE), ("cell", Type("struct", fields=(("Id", INT),)))))

LEFT = Schema(
    {
        "ts": "timestamp",
        "tn": "timestamp_ntz",
        "d": "date",
        "x": "int",
        "y": "int",
        "small": "smallint",
        "big": "bigint",
        "f": "float",
        "v": "double",
        "m": "decimal(10,2)",
        "wide": "decimal(38,10)",
        "name": "string",
        "ok": "boolean",
        "raw": "binary",
        "iv": "interval day to second",
        "tags": "array<int>",
        "props": "map<string,int>",
        "pos": POSITION,
        "only left": "int",
    }
)
RIGHT = Schema(
    {
        "ts": "timestamp",
        "tn": "timestamp_ntz",
        "d": "date",
        "a": "int",
        "b": "int",
        "tiny": "tinyint",
        "big": "bigint",
        "f": "float",
        "w": "double",
        "n": "decimal(12,4)",
        "wide": "decimal(38,10)",
        "name": "string",
        "fine": "boolean",
        "raw": "binary",
        "iv": "interval day to second",
        "tags": "array<int>",
        "props": "map<string,int>",
        "pos": POSITION,
    }
)
