"""How the tests state an error: its words, the line of the text that it shows, and the carets below."""

import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.predicate import On, Schema, parse
from tests.conditions.schemas import LEFT, RIGHT


def refusal(on: On, left: Schema = LEFT, right: Schema = RIGHT) -> str:
    """The message with which a condition is refused."""
    with pytest.raises(StreamJoinError) as error:
        parse(on, left, right)
    return str(error.value)


def check_pointed(message: str, text: str, carets: str, left: Schema = LEFT, right: Schema = RIGHT) -> None:
    """A text of one line is refused with these words and with carets under this place."""
    assert refusal(text, left, right) == f"on: {message}\n  {text}\n  {carets}"
