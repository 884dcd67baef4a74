"""A layout as it is written on a command line."""

import ast

from streamjoin.errors import StreamJoinError
from streamjoin.layout.base import Layout
from streamjoin.layout.cell import Cell
from streamjoin.layout.grid import Grid
from streamjoin.layout.keyed import Keyed
from streamjoin.layout.scale import Scale
from streamjoin.local.handshake import Handshake

_KINDS: dict[str, type[Layout | Handshake]] = {
    kind.__name__.lower(): kind for kind in (Grid, Scale, Cell, Keyed, Handshake)
}


def parse_layout(text: str) -> Layout:
    """The layout that was written, as in Python, or a grid as ``2x3``.

    >>> parse_layout("2x3"), parse_layout("Keyed(8, spread=2)")
    (Grid(m=2, n=3), Keyed(n=8, spread=2))
    """
    m, cross, n = text.lower().partition("x")
    if cross and m.strip().isdigit() and n.strip().isdigit():
        return Grid(int(m), int(n))
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.lower() in _KINDS:
            values = [ast.literal_eval(given) for given in call.args]
            named = {given.arg or "**": ast.literal_eval(given.value) for given in call.keywords}
            layout = _KINDS[call.func.id.lower()](*values, **named)
            if isinstance(layout, Handshake):
                raise StreamJoinError(layout.why_not_on_spark)
            return layout
    except StreamJoinError:
        raise
    except (SyntaxError, ValueError, TypeError):
        pass
    raise StreamJoinError(
        f"layout: got {text!r}; expected auto, a grid such as 2x3, Scale(4), Cell(4), Keyed(8) or Keyed(8, spread=2)"
    )
