"""Windows as lists of immutable columnar segments."""

from streamjoin.pane.columns import key_column, numbers
from streamjoin.pane.container import SegmentError, digest
from streamjoin.pane.gather import gather
from streamjoin.pane.limit import NO_TIME, Limit
from streamjoin.pane.panes import Panes
from streamjoin.pane.rows import KeyColumn, Rows, no_columns
from streamjoin.pane.segment import Segment, Zone, Zones, write_whole

__all__ = [
    "NO_TIME",
    "KeyColumn",
    "Limit",
    "Panes",
    "Rows",
    "Segment",
    "SegmentError",
    "Zone",
    "Zones",
    "digest",
    "gather",
    "key_column",
    "no_columns",
    "numbers",
    "write_whole",
]
