"""Numbers as people read them, and messages of the library as those read them who type options."""

import re

NO_WINDOW = "no window: give --within, --between, --tumbling or --last, or time bounds in --on"

_OPTIONS = (
    (r"set spark\.sql\.shuffle\.partitions to (\d+) and take layout=", r"give --partitions \1 and --layout "),
    (r'say spark\.conf\.set\("spark\.sql\.shuffle\.partitions", (\d+)\)', r"give --partitions \1"),
    (r"join (left|right)\.select\(.*?\), or name the columns of the result with select=\[\.\.\.\]",
     r"give --\1-schema without it, or name the columns of the result with --select"),
    (r"select=\[\"l\.id\", \.\.\.\]", '--select "l.id, ..."'),
    (r"give p=, the share of them, or ranges= of uniform values, or as left and right batch DataFrames or files",
     "give -p, the share of them, or --range of uniform values, or as --left and --right files"),
    (r"give left= and right= as schemas", "give --left and --right as schemas"),
    (r"Give p=, or samples of both inputs", "Give -p, or files to sample as --left and --right"),
    (r'^window: expected one such as within\("15 minutes"\), or time bounds in `on`', NO_WINDOW),
    (r"^window: (?=.* counts rows)", "--last: "),
    (r"give window=", "give --within, --between or --tumbling"),
    (r'ranges=\{"(.+?)": \((\d+), (\d+)\)\}', r"--range \1=\2,\3"),
    (r"(?<![.\w])p=(?![\w.])", "-p"),
    (r"(?<![.\w])rates=(?![\w.])", "--rate"),
    (r"(?<![.\w])row_bytes=(?![\w.])", "--row-bytes"),
    (r", or a datetime\.timedelta", ""),
    (r"an argument names", "--kafka-config names"),
    (r"^p:", "-p:"),
    (r"^rates:", "--rate:"),
    (r"^ranges:", "--range:"),
    (r"^config:", "--kafka-config:"),
    (r"^(time|delay|how|layout|select|on|by|left|right|interval|within|between|tumbling|last):", r"--\1:"),
)  # fmt: skip


def to_options(message: str) -> str:
    """A message of the library, with options of the command line in place of arguments and settings.

    >>> to_options("to go on, set spark.sql.shuffle.partitions to 2 and take layout=Grid(1, 2).")
    'to go on, give --partitions 2 and --layout Grid(1, 2).'
    """
    for written, option in _OPTIONS:
        message = re.sub(written, option, message)
    return message


def si(number: float) -> str:
    """A number in three digits.

    >>> si(1234567), si(12), si(0)
    ('1.23 M', '12', '0')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def size(count: float) -> str:
    """Bytes, for people.

    >>> size(26_214_400)
    '25 MiB'
    """
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.3g} {unit}"
    return f"{count:.0f} B"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number of things in words.

    >>> count(1, "match", "matches"), count(2000, "row")
    ('1 match', '2,000 rows')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
