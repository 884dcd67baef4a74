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
from streamjoin.operators.types import BOOLEAN, INT, STRING, Type, parse_type

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


def _function(
    name: str, takes: str, yields: Type, value: Callable[..., Any], arrow: Any = None, *synonyms: str, **properties: Any
) -> Operator:
    """A function of arguments whose types are named; those with a question mark may be left out."""
    words = takes.split()
    types = tuple(None if word in ("array", "element") else parse_type(word.rstrip("?")) for word in words)
    least = sum(not word.endswith("?") for word in words)
    return Operator(name, Signature(types, yields), least, len(types), value, None, arrow, synonyms, **properties)


def _join(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()))


def _trim(function: Callable[..., pa.Array]) -> Callable[[pa.Array], pa.Array]:
    return lambda text: function(text, characters=" ")


ENTRIES = (
    _function("concat", "string" + " string?" * 99, STRING, lambda *parts: "".join(parts), _join),
    _function("lower", "string", STRING, str.lower, _in_vector("lower"), "lcase"),
    _function("upper", "string", STRING, str.upper, _in_vector("upper"), "ucase"),
    _function("trim", "string", STRING, lambda text: text.strip(" "), _trim(pc.utf8_trim)),
    _function("ltrim", "string", STRING, lambda text: text.lstrip(" "), _trim(pc.utf8_ltrim)),
    _function("rtrim", "string", STRING, lambda text: text.rstrip(" "), _trim(pc.utf8_rtrim)),
    _function("length", "string", INT, len, _in_vector("length"), "len", "char_length", "character_length"),
    _function("octet_length", "string", INT, lambda text: len(text.encode())),
    _function("bit_length", "string", INT, lambda text: 8 * len(text.encode())),
    _function("ascii", "string", INT, lambda text: ord(text[0]) if text else 0),
    _function("substring", "string int int?", STRING, substring, _in_vector("take_substring"), "substr"),
    _function("left", "string int", STRING, lambda text, count: text[: max(count, 0)], _in_vector("take_left")),
    _function("right", "string int", STRING, right, _in_vector("take_right")),
    _function("lpad", "string int string?", STRING, lambda t, n, by=" ": (pad(t, n, by) + t)[: max(n, 0)]),
    _function("rpad", "string int string?", STRING, lambda t, n, by=" ": (t + pad(t, n, by))[: max(n, 0)]),
    _function("reverse", "string", STRING, lambda text: text[::-1], pc.utf8_reverse),
    _function("repeat", "string int", STRING, lambda text, count: text * max(count, 0)),
    _function("replace", "string string string?", STRING, lambda t, old, new="": t.replace(old, new) if old else t),
    _function("translate", "string string string", STRING, translate),
    _function("startswith", "string string", BOOLEAN, str.startswith, _in_vector("starts_with")),
    _function("endswith", "string string", BOOLEAN, str.endswith, _in_vector("ends_with")),
    _function("contains", "string string", BOOLEAN, lambda text, part: part in text, _in_vector("contains")),
    _function("instr", "string string", INT, lambda text, part: text.find(part) + 1),
    _function("locate", "string string", INT, lambda part, text: text.find(part) + 1, None, "position"),
    _function("like", "string string string?", BOOLEAN, like, _in_vector("like"), constants=(2,), may_raise=always),
    _function("ilike", "string string string?", BOOLEAN, _ilike, _in_vector("ilike"), constants=(2,), may_raise=always),
    _function("rlike", "string string", BOOLEAN, rlike, _in_vector("rlike"), "regexp", "regexp_like", may_raise=always),
    _function("levenshtein", "string string int?", INT, levenshtein, _in_vector("measure_distance"), constants=(2,)),
    _function("array_contains", "array element", BOOLEAN, array_contains, _in_vector("array_contains")),
)
