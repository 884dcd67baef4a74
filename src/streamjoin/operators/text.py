"""Functions on strings and arrays.

Spark evaluates them before the join where they read one side. Where they read both, a worker evaluates them: the Arrow
forms that need kernels are in `vector`, which is imported with Numba where pairs are matched.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.operators.arithmetic import EvaluationError, order_key
from streamjoin.operators.entry import Operator, Signature, always
from streamjoin.operators.regex import pattern_error, to_re2
from streamjoin.operators.types import BOOLEAN, INT, STRING, Type

LONGEST = 2**31 - 1
"""The length of a substring that goes on to the end."""

ESCAPE = "\\"
"""The escape character of LIKE unless another one is named."""


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
                raise EvaluationError(explain_bad_pattern(pattern))
            c, at = pattern[at], at + 1
        elif c == "%":
            reach = set(range(min(reach), len(text) + 1)) if reach else reach
            continue
        elif c == "_":
            reach = {i + 1 for i in reach if i < len(text)}
            continue
        reach = {i + 1 for i in reach if text[i : i + 1] == c}
    return len(text) in reach


def explain_bad_pattern(pattern: str) -> str:
    """What is wrong with a pattern of LIKE."""
    return f"LIKE: in the pattern {pattern!r} the escape character stands before nothing that can be escaped"


def rlike(text: str, pattern: str) -> bool:
    """Whether a regular expression of Java finds something."""
    return bool(find_in(pa.array([text]), pattern)[0].as_py())


def find_in(texts: pa.Array, pattern: str) -> pa.Array:
    """In which texts a regular expression of Java finds something."""
    try:
        found = pc.match_substring_regex(texts, to_re2(pattern))
        crlf = pc.ends_with(texts, "\r\n")
        if pc.any(crlf).as_py():
            found = pc.if_else(crlf, pc.match_substring_regex(texts, to_re2(pattern, after_crlf=True)), found)
    except pa.ArrowInvalid as error:
        raise pattern_error(pattern, f"what RE2 does not ({error})") from None
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


def translate(text: str, letters: str, by: str) -> str:
    """Each of the letters replaced by the one at its place, or left out."""
    changes = {ord(c): by[i : i + 1] or None for i, c in reversed(list(enumerate(letters)))}
    return text.translate(changes)


def pad(text: str, count: int, filler: str) -> str:
    """What makes a text so many characters long."""
    missing = max(count - len(text), 0) if filler else 0
    return (filler * (missing // max(len(filler), 1) + 1))[:missing]


def _ilike(text: str, pattern: str, escape: str = ESCAPE) -> bool:
    return like(text.lower(), pattern.lower(), escape)


def _in_vector(name: str) -> Callable[..., Any]:
    """The Arrow form of this name in `vector`."""

    def apply(*columns: Any) -> Any:
        from streamjoin.operators import vector

        return getattr(vector, name)(*columns)

    return apply


def _function(name: str, yields: Type, value: Callable[..., Any], *takes: Type | None, **properties: Any) -> Operator:
    """A function of these arguments, all of which must be given unless `least` says how many."""
    least = properties.pop("least", len(takes))
    return Operator(name, Signature(takes, yields), least, len(takes), value, **properties)


_LONGEST_CONCAT = 100
_PATTERN: dict[str, Any] = {"may_raise": always}

ENTRIES = (
    _function(
        "concat",
        STRING,
        lambda *parts: "".join(parts),
        *(STRING,) * _LONGEST_CONCAT,
        least=1,
        arrow=lambda *parts: pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string())),
    ),
    _function("lower", STRING, str.lower, STRING, arrow=_in_vector("lower"), synonyms=("lcase",)),
    _function("upper", STRING, str.upper, STRING, arrow=_in_vector("upper"), synonyms=("ucase",)),
    _function(
        *("trim", STRING, lambda text: text.strip(" "), STRING),
        arrow=lambda text: pc.utf8_trim(text, characters=" "),
    ),
    _function(
        *("ltrim", STRING, lambda text: text.lstrip(" "), STRING),
        arrow=lambda text: pc.utf8_ltrim(text, characters=" "),
    ),
    _function(
        *("rtrim", STRING, lambda text: text.rstrip(" "), STRING),
        arrow=lambda text: pc.utf8_rtrim(text, characters=" "),
    ),
    _function(
        *("length", INT, len, STRING),
        arrow=lambda text: pc.utf8_length(text).cast(pa.int32()),
        synonyms=("len", "char_length", "character_length"),
    ),
    _function(
        *("substring", STRING, substring, STRING, INT, INT),
        least=2,
        arrow=_in_vector("take_substring"),
        synonyms=("substr",),
    ),
    _function("left", STRING, lambda text, count: text[: max(count, 0)], STRING, INT, arrow=_in_vector("take_left")),
    _function("right", STRING, right, STRING, INT, arrow=_in_vector("take_right")),
    _function("startswith", BOOLEAN, str.startswith, STRING, STRING, arrow=_in_vector("starts_with")),
    _function("endswith", BOOLEAN, str.endswith, STRING, STRING, arrow=_in_vector("ends_with")),
    _function("contains", BOOLEAN, lambda text, part: part in text, STRING, STRING, arrow=_in_vector("contains")),
    _function(
        *("like", BOOLEAN, like, STRING, STRING, STRING), least=2, arrow=_in_vector("like"), constants=(2,), **_PATTERN
    ),
    _function(
        *("ilike", BOOLEAN, _ilike, STRING, STRING, STRING),
        least=2,
        arrow=_in_vector("ilike"),
        constants=(2,),
        **_PATTERN,
    ),
    _function(
        *("rlike", BOOLEAN, rlike, STRING, STRING),
        arrow=_in_vector("rlike"),
        synonyms=("regexp", "regexp_like"),
        **_PATTERN,
    ),
    _function(
        *("levenshtein", INT, levenshtein, STRING, STRING, INT),
        least=2,
        arrow=_in_vector("measure_distance"),
        constants=(2,),
    ),
    _function("reverse", STRING, lambda text: text[::-1], STRING, arrow=pc.utf8_reverse),
    _function("repeat", STRING, lambda text, count: text * max(count, 0), STRING, INT),
    _function(
        *("replace", STRING, lambda text, old, new="": text.replace(old, new) if old else text, STRING, STRING, STRING),
        least=2,
    ),
    _function("translate", STRING, translate, STRING, STRING, STRING),
    _function("instr", INT, lambda text, part: text.find(part) + 1, STRING, STRING),
    _function("locate", INT, lambda part, text: text.find(part) + 1, STRING, STRING, synonyms=("position",)),
    _function(
        *("lpad", STRING, lambda text, n, by=" ": (pad(text, n, by) + text)[: max(n, 0)], STRING, INT, STRING), least=2
    ),
    _function(
        *("rpad", STRING, lambda text, n, by=" ": (text + pad(text, n, by))[: max(n, 0)], STRING, INT, STRING), least=2
    ),
    _function("ascii", INT, lambda text: ord(text[0]) if text else 0, STRING),
    _function("octet_length", INT, lambda text: len(text.encode()), STRING),
    _function("bit_length", INT, lambda text: 8 * len(text.encode()), STRING),
    _function("array_contains", BOOLEAN, array_contains, None, None, arrow=_in_vector("array_contains")),
)
