"""The source of compiled conditions: one module for each entry point and structure.

`pairs` decides given pairs of rows; `nested` meets every probing row with every built row. Columns come as separate
arrays, `l0s` for the left side's first key, with `l0s_valid` beside it where columns may hold NULL.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamjoin.operators.expr import Expr, Key
from streamjoin.operators.lower import Lowering
from streamjoin.operators.statements import NEVER, dtype_of
from streamjoin.operators.strict.source import read_source
from streamjoin.spec.side import Side

TILE = 2048
"""Rows of the build side that all probing rows meet before the next ones: their columns stay in the L1 cache."""

LEFT_TO_EVALUATE = 2
"""The mark of a pair that `evaluate` decides; a match is marked 1."""


@dataclass(frozen=True)
class Source:
    """A module's text, which is the same for every condition of this structure, and this condition's own part."""

    text: str
    entry: str
    keys: dict[Side, tuple[Key, ...]]
    ints: tuple[int, ...]
    floats: tuple[float, ...]


def pairs_source(condition: Expr, *, nullable: bool, index: str) -> Source:
    """``pairs(columns..., li, ri, ints, floats, marks)``: marks each pair, returns how many are left to `evaluate`.

    `index` is the type of `li` and `ri`.
    """
    code = Lowering(nullable=nullable)
    decide = _decide(code, condition)
    arguments = {**_pair_arguments(code, index), "marks": "uint8[::1]"}
    body = _fill(_PAIRS, code.constants, _mark(code, l="li[k]", r="ri[k]"))
    return _source(code, decide, "pairs", arguments, body)


_PAIRS = """
CONSTANTS
left = 0
for k in range(li.shape[0]):
    mark = MARK
    marks[k] = mark
    left += mark == 2
return left
"""


def values_source(expr: Expr, *, nullable: bool, index: str) -> Source:
    """``values(columns..., li, ri, ints, floats, out, marks)``: the value of each pair.

    A pair is marked 1 where it has a value, 0 where that is NULL; returns how many are left to `evaluate`.
    """
    code = Lowering(nullable=nullable)
    value = code.value(expr)
    dtype = dtype_of(expr.type)
    mark = _write_mark(code.negate(value.null), value.error)
    decide = _define_decide(code, f"np.{dtype}({value.text}), {mark}")
    out = f"{'boolean' if dtype == 'bool_' else dtype}[::1]"
    arguments = {**_pair_arguments(code, index), "out": out, "marks": "uint8[::1]"}
    body = _fill(_VALUES, code.constants, _mark(code, l="li[k]", r="ri[k]"))
    return _source(code, decide, "values", arguments, body)


_VALUES = """
CONSTANTS
left = 0
for k in range(li.shape[0]):
    value, mark = MARK
    out[k] = value
    marks[k] = mark
    left += mark == 2
return left
"""


def nested_source(condition: Expr, probe: Side, *, nullable: bool, index: str) -> Source:
    """``nested(columns..., low, high, time, ints, floats, probes, builds, cursor)``: returns the number of matches.

    The columns of the probing side come first; `index` is the type of `probes` and `builds`, where a pair that is
    left to `evaluate` has the complement of its build row.

    Marks are computed only in tiles where a count says that there are any. The count has no branches and a 32-bit
    accumulator. For ``abs(l.x - r.x) <= 10 AND abs(l.y - r.y) <= 10`` on ints, AVX-512: 32 rows a turn, 23
    instructions for eight of them, of which the checks for overflow are 10; 2.8 G pairs/s. On doubles, where
    nothing overflows, a sum of two products is compared at 5.9 G pairs/s, and on floats at 6.
    """
    code = Lowering(nullable=nullable)
    decide = _decide(code, condition)
    build: Side = "r" if probe == "l" else "l"
    arguments = {
        **_columns(code, probe),
        **_columns(code, build),
        **_arrays(low="int64", high="int64", time="int64", ints="int64", floats="float64"),
        "probes": f"{index}[::1]",
        "builds": f"{index}[::1]",
        "cursor": "int64[::1]",
    }
    rows = {probe: "probe", build: "j"}
    tiles = [f"{name}_tile = {name}[start:stop]" for name in _columns(code, build)]
    body = _fill(_NESTED, code.constants, _mark(code, l=rows["l"], r=rows["r"], tiled=build), tiles)
    return _source(code, decide, "nested", arguments, body)


_NESTED = """
CONSTANTS
rows = time.shape[0]
found = 0
start, probe, place = cursor[0], cursor[1], cursor[2]
marks = np.zeros(TILE_ROWS, np.uint8)
words = marks.view(np.uint64)
while start < rows:
    stop = min(start + TILE_ROWS, rows)
    time_tile = time[start:stop]
    TILES
    size = stop - start
    first = last = time_tile[0]
    for j in range(size):
        first = min(first, time_tile[j])
        last = max(last, time_tile[j])
    while probe < low.shape[0]:
        lowest, highest = low[probe], high[probe]
        if (lowest <= last) & (first <= highest):
            count = np.int32(0)
            if (lowest <= first) & (last <= highest):
                for j in range(size):
                    mark = MARK
                    count = np.int32(count + np.int32(mark != 0))
            else:
                for j in range(size):
                    mark = MARK
                    t = time_tile[j]
                    count = np.int32(count + np.int32((mark != 0) & (t >= lowest) & (t <= highest)))
            if count > 0:
                for j in range(size):
                    mark = MARK
                    t = time_tile[j]
                    marks[j] = mark if (t >= lowest) & (t <= highest) else 0
                for word in range(place // 8, (size + 7) // 8):
                    if words[word] != 0:
                        for j in range(max(word * 8, place), min(word * 8 + 8, size)):
                            if marks[j] != 0:
                                if found == probes.shape[0]:
                                    cursor[0], cursor[1], cursor[2] = start, probe, j
                                    return found
                                probes[found] = probe
                                builds[found] = start + j if marks[j] == 1 else -1 - start - j
                                found += 1
            cursor[3] += size
        place = 0
        probe += 1
    probe = 0
    start = stop
cursor[0] = -1
return found
"""


def _decide(code: Lowering, condition: Expr) -> list[str]:
    """The function that marks one pair, from its values and the constants."""
    is_true, error = code.condition(condition)
    return _define_decide(code, _write_mark(is_true, error))


def _write_mark(flag: str, error: str) -> str:
    """The mark of a pair: the flag, or that it is left to `evaluate`."""
    mark = f"np.uint8({flag})"
    return mark if error == NEVER else f"np.uint8({LEFT_TO_EVALUATE}) if {error} else {mark}"


def _define_decide(code: Lowering, returned: str) -> list[str]:
    return [
        '@njit(nogil=True, fastmath=False, error_model="numpy", forceinline=True)',
        f"def decide({', '.join((*_scalars(code), *_constants(code)))}):",
        *_indent([*code.lines, f"return {returned}"]),
    ]


def _pair_arguments(code: Lowering, index: str) -> dict[str, str]:
    """The columns of both sides, the pairs, the constants."""
    pairs = _arrays(li=index, ri=index, ints="int64", floats="float64")
    return {**_columns(code, "l"), **_columns(code, "r"), **pairs}


def _scalars(code: Lowering) -> list[str]:
    """The variables that hold one pair's values."""
    return [
        f"{side}{i}{suffix}"
        for side in ("l", "r")
        for i in range(len(code.keys[side]))
        for suffix in (("", "_null") if code.nullable else ("",))
    ]


def _constants(code: Lowering) -> list[str]:
    return [line.split(" = ")[0] for line in code.constants]


def _mark(code: Lowering, *, l: str, r: str, tiled: str = "") -> str:
    """The call of `decide` on row `l` of the left and row `r` of the right columns."""
    arguments = []
    for name in _scalars(code):
        column, _, null = name.partition("_")
        array = f"{column}s{'_valid' if null else ''}{'_tile' if column[0] == tiled else ''}"
        arguments.append(f"{'not ' if null else ''}{array}[{l if column[0] == 'l' else r}]")
    return f"decide({', '.join((*arguments, *_constants(code)))})"


def _fill(template: str, constants: list[str], mark: str, tiles: Sequence[str] = ()) -> list[str]:
    """A template with its words in capitals replaced: lines take over the indentation."""
    lines: list[str] = []
    for line in template.strip("\n").split("\n"):
        word = line.strip()
        indent = line[: len(line) - len(word)]
        parts = {"CONSTANTS": constants, "TILES": tiles}.get(word, [word])
        lines += [indent + part.replace("MARK", mark).replace("TILE_ROWS", str(TILE)) for part in parts]
    return lines


def _columns(code: Lowering, side: Side) -> dict[str, str]:
    """The arrays of one side, with their types."""
    arrays: dict[str, str] = {}
    for i, key in enumerate(code.keys[side]):
        arrays |= _arrays(**{f"{side}{i}s": dtype_of(key.type)})
        if code.nullable:
            arrays |= _arrays(**{f"{side}{i}s_valid": "bool_"})
    return arrays


def _arrays(**dtypes: str) -> dict[str, str]:
    """Arrays that are only read, as those of Arrow are."""
    numba_name = {"bool_": "boolean"}
    return {name: f"Array({numba_name.get(dtype, dtype)}, 1, 'C', readonly=True)" for name, dtype in dtypes.items()}


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _source(code: Lowering, decide: list[str], entry: str, arguments: dict[str, str], body: Sequence[str]) -> Source:
    text = "\n".join(
        (
            '"""Generated by streamjoin; safe to delete."""',
            "",
            "import numpy as np",
            "from numba import njit",
            *((read_source(),) if code.is_strict else ()),
            "",
            "SIGNATURE = (",
            "    'int64('",
            *(f"    {written!r}  # {name}" for name, written in _list_arguments(arguments)),
            "    ')'",
            ")",
            "",
            "",
            *decide,
            "",
            "",
            '@on_disk(SIGNATURE, fastmath=False, error_model="numpy")',
            f"def {entry}({', '.join(arguments)}):",
            *_indent(body),
            "",
        )
    )
    keys: dict[Side, tuple[Key, ...]] = {side: tuple(keys) for side, keys in code.keys.items()}
    return Source(text, entry, keys, tuple(code.ints), tuple(code.floats))


def _list_arguments(arguments: dict[str, str]) -> list[tuple[str, str]]:
    last = list(arguments)[-1]
    return [(name, written if name == last else f"{written}, ") for name, written in arguments.items()]
