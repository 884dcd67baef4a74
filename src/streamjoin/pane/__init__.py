"""Windows as lists of immutable columnar segments."""

from streamjoin.pane.container import SegmentError
from streamjoin.pane.panes import Panes
from streamjoin.pane.rows import KeyColumn, Rows, no_columns
from streamjoin.pane.segment import Segment, Zone, Zones

__all__ = ["KeyColumn", "Panes", "Rows", "Segment", "SegmentError", "Zone", "Zones", "no_columns"]
