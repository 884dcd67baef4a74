"""One table of all operators and functions: a row for each, with texts that use it on columns of the groups below.

Tests run over it: the plain value against Spark, the compiled code and the Arrow form against the plain value. An entry
of the registry without a row here fails a test.
"""

import math
import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.conditions.texts import PATTERNS, REGEXES, STRINGS

WHOLE = "tinyint smallint int bigint"
FLOATING = "float double"
NUMBERS = f"{WHOLE} {FLOATING}"
ANY = f"int bigint {FLOATING} decimal boolean string"

GROUPS: dict[str, dict[str, str]] = {
    **{type: {"x": type, "a": type} for type in NUMBERS.split()},
    "angle": {"x": "double", "a": "double"},
    "decimal": {"x": "decimal(10,2)", "a": "decimal(12,4)"},
    "boolean": {"x": "boolean", "a": "boolean"},
    "times": {
        "x": "date",
        "a": "date",
        "s": "smallint",
        "t": "timestamp_ntz",
        "u": "timestamp_ntz",
        "z": "timestamp",
        "i": "interval day to second",
        "j": "interval day",
    },
    "string": {
        "x": "string",
        "a": "string",
        "n": "int",
        "c": "int",
        "p": "string",
        "q": "string",
        "words": "array<string>",
        "numbers": "array<int>",
    },
}
"""The columns of both sides. Results of the group `angle` may differ from Spark's by a unit in the last place."""

STRICT = "exp expm1 sinh cosh tanh ln log2 log10 log1p atanh asin acos atan cbrt".split()  # noqa: SIM905

COMPILED = tuple(group for group in GROUPS if group not in ("decimal", "string"))

ROWS: dict[str, dict[str, str]] = {
    # Comparison and logic
    "=": {ANY: "l.x = r.a", "times": "r.i = r.j"},
    "<>": {ANY: "l.x <> r.a"},
    "<": {ANY: "l.x < r.a", "times": "l.x < r.a", "double": "l.x < 2.5D"},
    "<=": {ANY: "l.x <= r.a", "times": "l.t <= r.u"},
    ">": {ANY: "l.x > r.a", "double": "l.x > 2.5D"},
    ">=": {ANY: "l.x >= r.a", "double": "2.5D >= l.x"},
    "<=>": {ANY: "l.x <=> r.a; equal_null(l.x, r.a)"},
    "AND": {"boolean": "l.x AND r.a; l.x AND NULL"},
    "OR": {"boolean": "l.x OR r.a; NULL OR r.a"},
    "NOT": {"boolean": "NOT l.x"},
    "IS NULL": {ANY: "l.x IS NULL; isnull(l.x)"},
    "IS TRUE": {"boolean": "l.x IS TRUE"},
    "IS FALSE": {"boolean": "l.x IS FALSE"},
    "isnan": {NUMBERS: "isnan(l.x); isnan(l.x + r.a)"},
    "IN": {"int bigint float double": "l.x IN (r.a, 3, NULL)", "boolean string": "l.x IN (r.a, NULL)"},
    "CASE": {
        NUMBERS: "CASE WHEN l.x < r.a THEN l.x ELSE r.a END",
        "boolean": "CASE WHEN l.x THEN r.a END; CASE WHEN l.x THEN NULL WHEN r.a THEN l.x ELSE r.a END",
        "string": "CASE WHEN l.x < r.a THEN l.x ELSE r.a END",
    },
    "coalesce": {ANY: "coalesce(l.x, r.a); nvl(l.x, r.a); ifnull(l.x, r.a)"},
    "least": {f"{NUMBERS} decimal string": "least(l.x, r.a)"},
    "greatest": {f"{NUMBERS} decimal boolean string": "greatest(r.a, l.x)", "times": "greatest(l.t, r.u)"},
    # Arithmetic
    "+": {
        f"{NUMBERS} decimal": "l.x + r.a",
        "times": "l.x + 3; l.x + r.s; l.x + r.j; r.i + l.x; l.t + r.i; l.t + r.j; r.i + r.i",
    },
    "-": {
        f"{NUMBERS} decimal": "l.x - r.a; -l.x; negative(l.x)",
        "times": "l.x - 3; l.x - r.a; l.x - r.j; l.t - r.u; l.t - r.i; r.i - r.j; -r.i",
    },
    "*": {f"{NUMBERS} decimal": "l.x * r.a"},
    "/": {f"{NUMBERS} decimal": "l.x / r.a"},
    "div": {f"{WHOLE} decimal": "l.x div r.a; l.x div -1"},
    "%": {f"{NUMBERS} decimal": "l.x % r.a; mod(l.x, r.a)", WHOLE: "l.x % 7"},
    "pmod": {f"{NUMBERS} decimal": "pmod(l.x, r.a)", WHOLE: "pmod(l.x, -3)"},
    "abs": {f"{NUMBERS} decimal": "abs(l.x)", "times": "abs(r.i)"},
    "floor": {f"{NUMBERS} decimal": "floor(l.x)"},
    "ceil": {f"{FLOATING} decimal": "ceil(l.x)"},
    "round": {
        f"{WHOLE} decimal": "round(l.x, 1); round(l.x, -1); round(l.x, -19)",
        FLOATING: "round(l.x); round(l.x, 2); round(l.x, -1); round(l.x, 7); round(l.x, 25)",
    },
    "&": {WHOLE: "l.x & r.a; l.x & 1", "int": "(l.x & 3) | r.a; l.x & 1 + r.a"},
    "|": {WHOLE: "l.x | r.a"},
    "^": {WHOLE: "l.x ^ r.a"},
    "~": {WHOLE: "~l.x", "int": "-(~l.x)"},
    "unix_micros": {"times": "unix_micros(l.z)"},
    "unix_millis": {"times": "unix_millis(l.z)"},
    "unix_seconds": {"times": "unix_seconds(l.z) - unix_seconds(r.z)"},
    "unix_date": {"times": "unix_date(l.x)"},
    "datediff": {"times": "datediff(l.x, r.a)"},
    # Mathematics: those whose last digit is the platform's, and exact ones
    **{name: {"angle": f"{name}(l.x)"} for name in ("sin", "cos", "tan")},
    "sqrt": {FLOATING: "sqrt(l.x)"},
    "rint": {FLOATING: "rint(l.x)"},
    "sign": {FLOATING: "sign(l.x)"},
    "radians": {FLOATING: "radians(l.x)"},
    "degrees": {FLOATING: "degrees(l.x)"},
    **{name: {"double": f"{name}(l.x)"} for name in STRICT},
    **{name: {"double": f"{name}(l.x, r.a)"} for name in ("atan2", "hypot", "pow")},
    "log": {"double": "log(l.x, r.a); log(l.x)"},
    # Other operators in disguise
    "if": {"boolean": "if(l.x, r.a, NULL)"},
    "nullif": {ANY: "nullif(l.x, r.a)"},
    "nvl2": {"int boolean": "nvl2(l.x, r.a, l.x)", "string": "nvl2(l.x, r.a, 'none')"},
    "nanvl": {f"{NUMBERS}": "nanvl(l.x, r.a)"},
    "isnotnull": {ANY: "isnotnull(l.x)"},
    "date_add": {"times": "date_add(l.x, 3); date_add(l.x, r.s)"},
    "date_sub": {"times": "date_sub(l.x, 3)"},
    # Strings and arrays
    "concat": {"string": "concat(l.x, r.a); l.x || r.a; concat(l.x, '-', r.a)"},
    **{name: {"string": f"{name}(l.x || r.a)"} for name in "lower upper trim ltrim rtrim length".split()},  # noqa: SIM905
    "substring": {"string": "substring(l.x, r.n, l.n); substring(l.x, r.n)"},
    "left": {"string": "left(l.x, r.n)"},
    "right": {"string": "right(l.x, r.n)"},
    "startswith": {"string": "startswith(l.x, r.a)"},
    "endswith": {"string": "endswith(l.x, r.a)"},
    "contains": {"string": "contains(l.x, r.a)"},
    "like": {"string": "l.x LIKE r.p; like(l.x, r.p); l.x LIKE r.p ESCAPE '!'"},
    "ilike": {"string": "l.x ILIKE r.p; ilike(l.x, r.p)"},
    "rlike": {"string": "l.x RLIKE r.q; rlike(l.x, r.q)"},
    "levenshtein": {"string": "levenshtein(l.x, r.a); levenshtein(l.x, r.a, 2)"},
    "reverse": {"string": "reverse(l.x || r.a)"},
    "repeat": {"string": "repeat(l.x, r.c)"},
    "replace": {"string": "replace(l.x, r.a, '-'); replace(l.x, r.a); replace(l.x, 'a', r.a)"},
    "translate": {"string": "translate(l.x, r.a, 'xy'); translate(l.x, 'abß', r.a)"},
    "instr": {"string": "instr(l.x, r.a)"},
    "locate": {"string": "locate(l.x, r.a); position(l.x, r.a); position(l.x IN r.a)"},
    "lpad": {"string": "lpad(l.x, r.c, r.a); lpad(l.x, r.c)"},
    "rpad": {"string": "rpad(l.x, r.c, r.a); rpad(l.x, r.c)"},
    "ascii": {"string": "ascii(l.x || r.a)"},
    "octet_length": {"string": "octet_length(l.x || r.a)"},
    "bit_length": {"string": "bit_length(l.x || r.a)"},
    "array_contains": {"string": "array_contains(l.words, r.a); array_contains(l.numbers, r.n)"},
}

CASTS = {
    NUMBERS: "; ".join(f"CAST(l.x AS {t})" for t in "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE BOOLEAN".split()),  # noqa: SIM905
    WHOLE: "CAST(l.x > r.a AS INT)",
    "boolean": "CAST(l.x AS INT); CAST(r.a AS DOUBLE)",
    "times": "CAST(l.x AS TIMESTAMP_NTZ); CAST(l.t AS DATE)",
}


def texts_of(group: str) -> list[str]:
    """All texts of the table that are on columns of a group."""
    rows = [*ROWS.values(), CASTS]
    found = [texts for row in rows for groups, texts in row.items() if group in groups.split()]
    return list(dict.fromkeys(text.strip() for texts in found for text in texts.split(";")))


_BITS = {"tiny": 7, "small": 15, "": 31, "big": 63}
_FLOATS = [0.0, -0.0, 0.1, 1.0, -1.0, 0.5, 2.5, -3.5, 1e10, 123456.789, math.inf, -math.inf, math.nan, 5e-324]
_VALUES: dict[str, list[Any]] = {
    **{
        f"{t}int": [0, 1, -1, 5, 7, -10, 2**b - 1, -(2**b)]
        for t, b in {"tiny": 7, "small": 15, "": 31, "big": 63}.items()
    },
    "float": [0.0, -0.0, 0.5, 1.0, -1.0, 2.5, -3.5, 1e10, 0.25, math.inf, -math.inf, math.nan, 2.0**-149],
    "double": [*_FLOATS, 1.7976931348623157e308, 1.005, -2.675, 4503599627370497.5],
    "decimal(10,2)": [Decimal(v) for v in ("0.00", "0.05", "-3.75", "1.00", "99999999.99", "-99999999.99")],
    "decimal(12,4)": [Decimal(v) for v in ("0.0000", "0.0500", "-3.7500", "2.5000", "99999999.9999", "-0.0001")],
    "boolean": [True, False],
    "date": [date(1970, 1, 1), date(2024, 2, 29), date(2024, 3, 1), date(1969, 12, 30)],
    "timestamp_ntz": [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 3, 1), datetime(2024, 3, 1, 0, 0, 1)],
    "timestamp": [
        datetime(1969, 12, 31, 23, 59, 59, 999_500),
        datetime(1970, 1, 1),
        datetime(2024, 2, 29, 12, 0, 0, 1),
    ],
    "interval day to second": [timedelta(0), timedelta(hours=-36), timedelta(microseconds=1), timedelta(days=2)],
    "interval day": [timedelta(0), timedelta(days=3), timedelta(days=-1)],
    "string": STRINGS,
    "array<string>": [[], ["a"], ["ab", None], [None], ["é", "a", "A"]],
    "array<int>": [[], [0], [1, None], [2, 5, 0]],
}


def rows_of(group: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Rows of a group's columns: every value of `x` and `a` in turn, NULL among them; the same at each call."""
    chance = random.Random(f"{group} {seed}")
    special = {
        "c": [0, 1, 2, 3, 5, 9, -1],
        "p": PATTERNS,
        "q": REGEXES,
        "n": [0, 1, 2, 3, -1, -2, 5, 2**31 - 1, -(2**31)],
    }

    def column(name: str, type: str) -> list[Any]:
        values = [None, *special.get(name, _VALUES[type])]
        chance.shuffle(values)
        return [values[i % len(values)] for i in range(count)]

    columns = {name: column(name, type) for name, type in GROUPS[group].items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
