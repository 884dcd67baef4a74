"""Functions on strings and arrays that a worker evaluates: what they take, what they yield, what they mean.

Spark evaluates them wherever it can, which is before the join for one side and after it for an inner join. In every
other join they decide which rows met nobody, so a worker must.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.operators.arithmetic import EvaluationError, order_key
from streamjoin.operators.regex import portable, refused
from streamjoin.operators.types import BOOLEAN, INT, STRING, Type

LONGEST = 2**31 - 1
"""The length of a substring that goes on to the end."""

ESCAPE = "\\"
"""The escape character of LIKE unless another one is named."""


@dataclass(frozen=True)
class Signature:
    """The types of the arguments, how many of them there must be, and the type of the result.

    An argument of type None is an array, or one of its elements.
    """

    takes: tuple[Type | None, ...]
    least: int
    yields: Type
    value: Callable[..., Any]
    """The function on single values, none of them NULL."""

    def fits(self, types: Sequence[Type]) -> bool:
        """Whether these are types of its arguments."""
        if not self.least <= len(types) <= len(self.takes):
            return False
        if self.takes[0] is None:
            return str(types[0]) == f"array<{types[1]}>"
        return all(takes == type for takes, type in zip(self.takes, types, strict=False))


def like(text: str, pattern: str, escape: str = ESCAPE) -> bool:
    r"""SQL's LIKE: ``%`` stands for any characters, ``_`` for one.

    >>> like("a_c", r"a\_%"), like("abc", r"a\_%")
    (True, False)
    """
    reach = {0}  # how much of the text the pattern so far may stand for
    at = 0
    while at < len(pattern):
        c, at = pattern[at], at + 1
        if c == escape:
            if at == len(pattern) or pattern[at] not in ("_", "%", escape):
                raise EvaluationError(bad_pattern(pattern))
            c, at = pattern[at], at + 1
        elif c == "%":
            reach = set(range(min(reach), len(text) + 1)) if reach else reach
            continue
        elif c == "_":
            reach = {i + 1 for i in reach if i < len(text)}
            continue
        reach = {i + 1 for i in reach if text[i : i + 1] == c}
    return len(text) in reach


def bad_pattern(pattern: str) -> str:
    """What is wrong with a pattern of LIKE."""
    return f"LIKE: in the pattern {pattern!r} the escape character stands before nothing that can be escaped"


def rlike(text: str, pattern: str) -> bool:
    """Whether a regular expression of Java finds something."""
    return bool(found_in(pa.array([text]), pattern)[0].as_py())


def found_in(texts: pa.Array, pattern: str) -> pa.Array:
    """In which texts a regular expression of Java finds something."""
    try:
        found = pc.match_substring_regex(texts, portable(pattern))
        crlf = pc.ends_with(texts, "\r\n")
        if pc.any(crlf).as_py():
            found = pc.if_else(crlf, pc.match_substring_regex(texts, portable(pattern, after_crlf=True)), found)
    except pa.ArrowInvalid as error:
        raise refused(pattern, f"what RE2 does not ({error})") from None
    return found


def substring(text: str, first: int, count: int = LONGEST) -> str:
    """SQL's substring: counted from 1, or from the end.

    >>> substring("abc", -5, 3), substring("abc", 2)
    ('a', 'bc')
    """
    start = first - 1 if first > 0 else len(text) + first if first < 0 else 0
    return text[max(start, 0) : max(start + count, 0)]


def right(text: str, count: int) -> str:
    """The last characters."""
    return substring(text, -count) if count > 0 else ""


def levenshtein(a: str, b: str, most: int | None = None) -> int:
    """How many changes make b of a; -1 for more than `most`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (x != y), row[j] + 1, row[j - 1] + 1)
    return -1 if most is not None and row[-1] > most else row[-1]


def array_contains(array: Sequence[Any], wanted: Any) -> bool | None:
    """Whether an element equals a value; NULL where only a NULL among them might."""
    if any(element is not None and order_key(element) == order_key(wanted) for element in array):
        return True
    return None if None in array else False


def _on_strings(yields: Type, value: Callable[..., Any], *more: Type, least: int = 1) -> Signature:
    return Signature((STRING, *more), least, yields, value)


_TWO = {"least": 2}
_MANY = 100

FUNCTIONS: dict[str, Signature] = {
    "concat": Signature((STRING,) * _MANY, 1, STRING, lambda *parts: "".join(parts)),
    "lower": _on_strings(STRING, str.lower),
    "upper": _on_strings(STRING, str.upper),
    "trim": _on_strings(STRING, lambda text: text.strip(" ")),
    "ltrim": _on_strings(STRING, lambda text: text.lstrip(" ")),
    "rtrim": _on_strings(STRING, lambda text: text.rstrip(" ")),
    "length": _on_strings(INT, len),
    "substring": _on_strings(STRING, substring, INT, INT, **_TWO),
    "left": _on_strings(STRING, lambda text, count: text[: max(count, 0)], INT, **_TWO),
    "right": _on_strings(STRING, right, INT, **_TWO),
    "startswith": _on_strings(BOOLEAN, str.startswith, STRING, **_TWO),
    "endswith": _on_strings(BOOLEAN, str.endswith, STRING, **_TWO),
    "contains": _on_strings(BOOLEAN, lambda text, part: part in text, STRING, **_TWO),
    "like": _on_strings(BOOLEAN, like, STRING, STRING, **_TWO),
    "ilike": _on_strings(BOOLEAN, lambda text, *rest: like(text.lower(), *_lowered(*rest)), STRING, STRING, **_TWO),
    "rlike": _on_strings(BOOLEAN, rlike, STRING, **_TWO),
    "levenshtein": _on_strings(INT, levenshtein, STRING, INT, **_TWO),
    "array_contains": Signature((None, None), 2, BOOLEAN, array_contains),
}
"""Every function that is understood beyond those on numbers."""

OPERATORS = frozenset(
    (
        *("=", "<>", "<", "<=", ">", ">=", "<=>", "AND", "OR", "NOT", "IN", "CASE"),
        *("IS NULL", "IS TRUE", "IS FALSE", "coalesce", "least", "greatest"),
    )
)
"""Operators on numbers that strings have, too."""

SYNONYMS = {
    "lcase": "lower",
    "ucase": "upper",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "substr": "substring",
    "regexp": "rlike",
    "regexp_like": "rlike",
}
"""Other names of the same functions."""

PATTERNS = frozenset(("like", "ilike", "rlike"))
"""Functions that raise where a pattern has no sense."""

CONSTANT_ARGUMENTS = {"like": 2, "ilike": 2, "levenshtein": 2}
"""Arguments that must be constants, by their place: the escape character, the greatest distance."""


def _lowered(pattern: str, escape: str = ESCAPE) -> tuple[str, str]:
    return pattern.lower(), escape
