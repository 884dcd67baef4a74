"""Numbers as people read them."""


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
