"""Paths as Spark takes them: of this machine, or of an object store or file system that a scheme names."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # of two letters or more: one alone is a drive


def beneath(path: str, *names: str) -> str:
    """What lies below a path.

    >>> beneath("s3a://bucket/out/", "_checkpoint"), beneath("s3a://bucket", "a", "b"), beneath("/", "out")
    ('s3a://bucket/out/_checkpoint', 's3a://bucket/a/b', '/out')
    """
    scheme = match.group() if (match := _SCHEME.match(path)) else ""
    return "/".join([scheme + path[len(scheme) :].rstrip("/"), *names])


def to_local(path: str) -> Path | None:
    """The place on this machine that a path names; None if it names one elsewhere.

    >>> print(to_local("out/x"), to_local("file:/tmp/a%20b"), to_local("file:///tmp/a"), to_local("hdfs://name/a"))
    out/x /tmp/a b /tmp/a None
    """
    if not _SCHEME.match(path):
        return Path(path)
    parts = urlsplit(path)
    return Path(unquote(parts.path)) if parts.scheme.lower() == "file" and parts.netloc in ("", "localhost") else None


def to_absolute(path: str) -> str:
    """A path that names the same place wherever the command is typed.

    >>> to_absolute("dbfs:/a"), to_absolute("file:///tmp/a")
    ('dbfs:/a', '/tmp/a')
    """
    local = to_local(path)
    return path if local is None else str(local.absolute())
