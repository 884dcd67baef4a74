"""Mutants: the product with one small thing wrong in one function.

A mutant is found in the syntax tree of a module, and applied to the running product by giving the function another code
object, so whoever holds the function runs the mutant. Messages, annotations and assertions are left as they are.
"""

import ast
import copy
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from streamjoin import flow, worker

ROOMS = (flow, worker)
Function = ast.FunctionDef
Change = Callable[[ast.AST], ast.AST]

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: of the node with this number in its function, in one of the ways there are."""

    module: str
    path: str
    function: str
    """Its name, after that of its class if it has one."""
    node: int
    way: int
    line: int
    what: str

    def __str__(self) -> str:
        return f"{'/'.join(Path(self.path).parts[-2:])}:{self.line} {self.function}: {self.what}"

    @property
    def name(self) -> str:
        """What tells it from any other."""
        return f"{self} [{self.node}.{self.way}]"

    def apply(self) -> None:
        """Make the product this mutant, in this process."""
        tree = ast.parse(Path(self.path).read_text())
        function = next(found for name, found in _functions(tree) if name == self.function)
        parents = _find_parents(function)
        node = list(_walk(function))[self.node]
        changed = ast.copy_location(_ways(node)[self.way][1](node), node)
        _replace(parents[node], node, changed)
        ast.fix_missing_locations(tree)
        live = _find_live(importlib.import_module(self.module), self.function)
        live.__code__ = _find_code(compile(tree, self.path, "exec"), self.function)


def all_mutants() -> list[Mutant]:
    """Every mutant of the rooms."""
    found = []
    for room in ROOMS:
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            path = importlib.import_module(info.name).__file__
            assert path is not None
            for name, function in _functions(ast.parse(Path(path).read_text())):
                for number, node in enumerate(_walk(function)):
                    for way, (what, _) in enumerate(_ways(node)):
                        found.append(Mutant(info.name, path, name, number, way, node.lineno, what))  # type: ignore[attr-defined]
    return found


# Where


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions and methods; those within them belong to them."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{inner.name}", inner) for inner in node.body if isinstance(inner, Function))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, in order, that a mutant may change."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and isinstance(node, ast.arg | Function):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Slice):
                if isinstance(child, ast.Slice):
                    yield from _walk(child)
                continue
            if isinstance(child, ast.AST) and not (isinstance(node, ast.AnnAssign) and name == "annotation"):
                yield child
                if not isinstance(child, ast.Raise):  # what it says is no matter
                    yield from _walk(child)


def _find_parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(root) for child in ast.iter_child_nodes(node)}


def _replace(parent: ast.AST, node: ast.AST, changed: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is node:
            setattr(parent, name, changed)
        elif isinstance(value, list) and any(each is node for each in value):
            setattr(parent, name, [changed if each is node else each for each in value])


def _find_code(code: CodeType, name: str) -> CodeType:
    for part in name.split("."):
        code = next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == part)
    return code


def _find_live(module: ModuleType, name: str) -> FunctionType:
    found: Any = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, cached_property):
        found = found.func
    elif isinstance(found, classmethod | staticmethod):
        found = found.__func__
    function: FunctionType = inspect.unwrap(found)
    return function


# How


def _ways(node: ast.AST) -> list[tuple[str, Change]]:
    """What may be changed about a node: in words, and the change."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            return [(_in_words(node), lambda n: _with(n, ops=[_COMPARED[type(op)]()]))]
        case ast.BinOp(op=op) if type(op) in _COMPUTED:
            return [(_in_words(node), lambda n: _with(n, op=_COMPUTED[type(op)]()))]
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            return [(_in_words(node), lambda n: _with(n, op=other))]
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            return [(f"{ast.unparse(node)} without {type(node.op).__name__.lower()}", lambda n: operand)]
        case ast.Constant(value=bool(value)):
            return [(f"{value} is {not value}", lambda n: ast.Constant(not value))]
        case ast.Constant(value=int(value)):
            return [(f"{value} is {value + 1}", lambda n: ast.Constant(value + 1))]
        case (
            ast.If(test=ast.Name() | ast.Attribute() | ast.Call() | ast.NamedExpr() as test)
            | ast.IfExp(test=ast.Name() | ast.Attribute() | ast.Call() | ast.NamedExpr() as test)
        ):
            turned = ast.UnaryOp(ast.Not(), copy.deepcopy(test))
            return [(f"if not {ast.unparse(test)}", lambda n: _with(n, test=turned))]
        case ast.Return(value=ast.AST() as value) if not isinstance(value, ast.Constant):
            return [(f"returns None, not {_short(value)}", lambda n: ast.Return(ast.Constant(None)))]
        case ast.Expr(value=ast.Yield() | ast.YieldFrom() as value):
            never = ast.IfExp(ast.Constant(False), copy.deepcopy(value), ast.Constant(None))
            return [(f"without {_short(value)}", lambda n: ast.Expr(never))]
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete() | ast.Raise():
            return [(f"without {_short(node)}", lambda n: ast.Pass())]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return [(f"without {_short(node)}", lambda n: ast.Pass())]
        case ast.Continue():
            return [("break, not continue", lambda n: ast.Break())]
    return []


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _in_words(node: ast.Compare | ast.BinOp | ast.BoolOp) -> str:
    op = node.ops[0] if isinstance(node, ast.Compare) else node.op
    return f"another operator than {type(op).__name__} in {_short(node)}"


def _short(node: ast.AST) -> str:
    text = ast.unparse(node).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:57]}..."
