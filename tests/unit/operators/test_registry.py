"""Every operator has its row in the table of `tests/conditions/operators`, and all of its forms agree."""

from typing import Any

import pyarrow as pa
import pytest

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.entry import Signature
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Column, Expr, Function, Key, Literal
from streamjoin.operators.registry import FUNCTION_NAMES, OPERATORS, find
from streamjoin.operators.types import Schema
from streamjoin.operators.vector import evaluate_pairs
from streamjoin.sql.bind import bind
from streamjoin.sql.trace import trace
from tests.conditions.operators import GROUPS, ROWS, rows_of, texts_of

STRING = Schema(GROUPS["string"])
LEFTS, RIGHTS = rows_of("string", 20, 1), rows_of("string", 20, 2)
ARROW = {
    "string": pa.large_string(),
    "int": pa.int32(),
    "array<string>": pa.list_(pa.large_string()),
    "array<int>": pa.list_(pa.int32()),
}


def test_every_operator_has_a_row() -> None:
    assert ROWS.keys() == OPERATORS.keys()


@pytest.mark.parametrize("name", OPERATORS)
def test_a_row_uses_its_operator(name: str) -> None:
    for groups, texts in ROWS[name].items():
        schema = Schema(GROUPS[groups.split()[0]])
        for text in texts.split(";"):
            expr = bind(f"({text}) IS NULL", schema, schema)
            used = {node.op for node in _walk(expr) if isinstance(node, Call | Function)}
            assert name in used or f"{name}(" in text, text


def _walk(expr: Expr) -> list[Expr]:
    args = expr.args if isinstance(expr, Function) else expr.children
    return [expr, *(node for arg in args for node in _walk(arg))]


@pytest.mark.parametrize(
    ("name", "synonym"), [(name, synonym) for name, entry in OPERATORS.items() for synonym in entry.synonyms]
)
def test_a_synonym_is_of_one_operator(name: str, synonym: str) -> None:
    assert find(synonym) is OPERATORS[name]
    assert synonym not in OPERATORS


@pytest.mark.parametrize(
    "name", [name for name in FUNCTION_NAMES if find(name).is_function and name != "array_contains"]
)
def test_a_lambda_and_a_text_take_every_function_of_strings(name: str) -> None:
    entry = find(name)
    assert entry is not None
    assert isinstance(entry.types, Signature)
    columns = {f"c{i}": str(type) for i, type in enumerate(entry.types.takes[: entry.least])}
    text = trace(lambda l, r: getattr(l.c0, name)(*(r[column] for column in list(columns)[1:])))
    (found,) = bind(f"{text} IS NULL", Schema(columns), Schema(columns)).children
    assert isinstance(found, Function)
    assert found.op == entry.name


def tree_of(expr: Expr) -> Expr:
    """The expression as `vector` takes it."""
    match expr:
        case Column():
            return Key(expr.type, expr, name=str(expr))
        case Function(op=op, args=args, type=type):
            return Call(type, op, tuple(map(tree_of, args)))
        case Cast(arg=Literal(value=None), type=type):
            return Literal(type, None, "NULL")
    return expr.rebuild(tree_of)


@pytest.mark.parametrize("text", texts_of("string"))
def test_the_arrow_form_yields_the_plain_value(text: str) -> None:
    (expr,) = bind(f"({text}) IS NULL", STRING, STRING).children
    pairs = [(l, r) for l in LEFTS for r in RIGHTS]
    keys = {
        f"{side}.{name}": pa.array([pair[at][name] for pair in pairs], ARROW[str(type)])
        for at, side in enumerate("lr")
        for name, type in STRING.columns
    }
    found = evaluate_pairs(tree_of(expr), keys, len(pairs))
    wanted = [_outcome(expr, *pair) for pair in pairs]
    errors = [False] * len(pairs) if found.errors is None else found.errors.tolist()
    assert errors == [value is EvaluationError for value in wanted]
    values = found.values.to_pylist()
    assert [v for v, e in zip(values, errors, strict=True) if not e] == [v for v in wanted if v is not EvaluationError]


def _outcome(expr: Expr, l: Any, r: Any) -> Any:
    try:
        return evaluate(expr, l, r)
    except EvaluationError:
        return EvaluationError
