"""The one error a user of streamjoin meets."""


class StreamJoinError(ValueError):
    """A call that cannot be served: the message names the argument, what was given and what is accepted.

    >>> from streamjoin import within
    >>> within("5 lightyears")
    Traceback (most recent call last):
    streamjoin.errors.StreamJoinError: ...
    """
