"""Windows as lists of immutable columnar segments."""

from streamjoin.pane.columns import key_column, numbers
from streamjoin.pane.container import SegmentError, read_digest
from streamjoin.pane.gather import gather
from streamjoin.pane.key import KeyColumn
from streamjoin.pane.limit import NO_TIME, Limit
from streamjoin.pane.panes import Panes
from streamjoin.pane.rows import Rows, no_columns
from streamjoin.pane.segment import Segment, write_whole

__all__ = [
    "NO_TIME",
    "KeyColumn",
    "Limit",
    "Panes",
    "Rows",
    "Segment",
    "SegmentError",
    "gather",
    "key_column",
    "no_columns",
    "numbers",
    "read_digest",
    "write_whole",
]
