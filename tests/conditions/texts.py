"""Conditions on strings and arrays of both sides, as a user writes them, and rows that try them.

Letters whose case changes their length, combining and four-byte characters, patterns with and without sense, line ends.
"""

from typing import Any

from hypothesis import strategies as st

from streamjoin.predicate import Schema

STRINGS = [
    "",
    "a",
    "A",
    "ab",
    "aB",
    "a b ",
    " b",
    "straße",
    "ΑΣ",
    "İ",
    "é",
    "e\u0301",
    "😀x",
    "a%b",
    "a_b",
    "a\\b",
    "x\n",
]
PATTERNS = ["%", "_", "a%", "%b", "a_b", r"a\_b", r"a\%b", "%a%b%", "__", "", "😀_", "é", "a!_b", r"\\", r"a\\b"]
REGEXES = ["a", "^a.*b$", "[a-c]+", r"\d|\s", "(a|b)+", "x$", "^.$", "(?i)AB", "[^a]", r"\.", "a{1,2}b?", r"\W", ""]
COLUMNS: dict[str, tuple[str, Any]] = {
    "s": ("string", st.sampled_from(STRINGS)),
    "t": ("string", st.sampled_from(STRINGS)),
    "p": ("string", st.sampled_from(PATTERNS)),
    "q": ("string", st.sampled_from(REGEXES)),
    "n": ("int", st.sampled_from([0, 1, 2, -1, -2, 5, 2**31 - 1, -(2**31)])),
    "ok": ("boolean", st.booleans()),
    "words": ("array<string>", st.lists(st.none() | st.sampled_from(STRINGS), max_size=3)),
    "numbers": ("array<int>", st.lists(st.none() | st.integers(0, 2), max_size=3)),
}
SCHEMA = Schema({"ts": "timestamp", **{name: type for name, (type, _) in COLUMNS.items()}})
DDL = "ts timestamp, " + ", ".join(f"{name} {type}" for name, (type, _) in COLUMNS.items())
ROWS = st.fixed_dictionaries(
    {"ts": st.integers(0, 10), **{name: st.one_of(*[values] * 6, st.none()) for name, (_, values) in COLUMNS.items()}}
)
SIDES = st.lists(ROWS, max_size=12)


def _one(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


def _call(name: str, *args: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*args).map(lambda given: f"{name}({', '.join(given)})")


_COLUMN = _one("l.s", "l.t", "r.s", "r.t")
_WHOLE = _one("l.n", "r.n", "0", "1", "2", "-2", "5")
TEXT = st.recursive(
    _COLUMN | _one("'a'", "'B '", "'straße'"),
    lambda inner: st.one_of(
        *(_call(name, inner) for name in ("lower", "upper", "trim", "ltrim", "rtrim", "reverse")),
        _call("concat", inner, inner),
        _call("replace", inner, inner, inner),
        st.tuples(inner, inner).map(lambda both: f"({both[0]} || {both[1]})"),
        _call("substring", inner, _WHOLE, _WHOLE),
        _call("substr", inner, _WHOLE),
        _call("left", inner, _WHOLE),
        _call("right", inner, _WHOLE),
        *(_call(name, inner, inner) for name in ("coalesce", "least", "greatest", "nullif")),
        st.tuples(inner, inner).map(lambda both: f"CASE WHEN l.s < r.s THEN {both[0]} ELSE {both[1]} END"),
    ),
    max_leaves=4,
)
_NUMBER = st.one_of(_WHOLE, _call("length", TEXT), _call("levenshtein", TEXT, TEXT))


def _infix(a: Any, ops: tuple[str, ...], b: Any) -> st.SearchStrategy[str]:
    return st.tuples(a, _one(*ops), b).map(lambda parts: f"({' '.join(parts)})")


_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
SIMPLE = st.one_of(
    _infix(TEXT, _COMPARISONS, TEXT),
    _infix(_NUMBER, _COMPARISONS, _NUMBER),
    _call("levenshtein", TEXT, TEXT).map(lambda distance: f"({distance} / 4 < 0.3)"),
    *(_call(name, TEXT, TEXT) for name in ("startswith", "endswith", "contains")),
    _infix(TEXT, ("LIKE", "NOT LIKE", "ILIKE"), _one("l.p", "r.p", "'a%'", "concat('%', r.t)")),
    st.tuples(TEXT, _one("l.p", "r.p")).map(lambda both: f"({both[0]} LIKE {both[1]} ESCAPE '!')"),
    _infix(TEXT, ("RLIKE", "NOT RLIKE"), _one("l.q", "r.q", "'^a'")),
    st.tuples(TEXT, TEXT, TEXT).map(lambda parts: f"({parts[0]} IN ({parts[1]}, {parts[2]}, 'a'))"),
    TEXT.map(lambda text: f"({text} IS NULL)"),
    _one("array_contains(l.words, r.s)", "array_contains(r.words, l.t)", "array_contains(l.numbers, r.n)"),
    _one("l.ok", "r.ok", "l.n < r.n", "levenshtein(l.s, r.s, 2) >= 0"),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, _one("AND", "OR"), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda text: f"NOT {text}"),
        st.tuples(inner, inner).map(lambda both: f"CASE WHEN {both[0]} THEN {both[1]} ELSE l.ok END"),
    ),
    max_leaves=4,
)
"""Of both sides, of one, or of none: who draws must leave out what is no join condition."""
