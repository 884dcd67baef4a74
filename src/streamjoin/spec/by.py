"""The columns by which rows are grouped, or must be equal."""

from collections.abc import Sequence

from streamjoin.errors import StreamJoinError


def list_columns(by: str | Sequence[str] | None) -> list[str]:
    """The columns that `by` names.

    >>> list_columns("sym"), list_columns(None)
    (['sym'], [])
    """
    names = [by] if isinstance(by, str) else [] if by is None else list(by)
    if not all(isinstance(each, str) for each in names):
        raise StreamJoinError(f"by: got {by!r}; expected a column name, or a list of them")
    return names
