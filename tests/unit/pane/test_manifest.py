"""Names are packed into runs and come back."""

import json

from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane.manifest import pack_names, unpack_names


@given(st.lists(st.sampled_from(["l8", "l9", "l10", "l11", "r12", "l012", "l09", "x", "", "9", "10", "l9\n", "l10\n"])))
def test_names_in_runs_are_the_names(given_names: list[str]) -> None:
    assert list(unpack_names(json.loads(json.dumps(pack_names(given_names))))) == given_names
