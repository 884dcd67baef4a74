"""The directories of ``streamjoin run`` as they are before Spark starts: whether they are there, what is in them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamjoin.errors import StreamJoinError
from streamjoin.paths import to_local

DELTA, KAFKA, TABLE = "delta", "kafka", "table"
FILES = ("parquet", "csv", "json", "orc")
FORMATS = (*FILES, DELTA)
_EXTENSIONS = {**{f".{name}": name for name in FILES}, ".jsonl": "json", ".ndjson": "json", ".tsv": "csv"}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate"}
_PREFIX, _TOPIC = f"{TABLE}:", f"{KAFKA}:"
_PATTERN = set("*?[]{}")


@dataclass(frozen=True)
class Directory:
    """An input: a directory of files, or whatever else Spark takes for one."""

    named: str
    """The option that names it: left or right."""
    path: str

    @property
    def is_local(self) -> bool:
        """Whether it is a directory of this machine, which can be looked at."""
        return find_table(self.path) is None and to_local(self.path) is not None and not _PATTERN & {*self.path}

    @property
    def _place(self) -> Path:
        place = to_local(self.path)
        assert place is not None
        return place

    def check(self) -> None:
        """Refuse a path where there is no directory."""
        if not self.is_local:
            return
        there = self._place
        if there.is_file():
            raise StreamJoinError(
                f"--{self.named}: {self.path} is a file; expected a directory, to which files are added"
            )
        if not there.is_dir():
            raise StreamJoinError(f"--{self.named}: there is no directory {self.path} in {Path.cwd()}")

    def files(self) -> Iterator[Path]:
        """The files that Spark would read."""
        there = self._place
        for path in there.rglob("*"):
            hidden = any(part.startswith(("_", ".")) and "=" not in part for part in path.relative_to(there).parts)
            if not hidden and path.is_file():
                yield path

    def guess_format(self) -> str | None:
        """The format that most files are of, by their extensions; None where that does not tell."""
        if (self._place / "_delta_log").is_dir():
            return DELTA
        found = Counter(format for path in self.files() if (format := _EXTENSIONS.get(_read_extension(path))))
        return found.most_common(1)[0][0] if found else None

    def suggest_format(self, given: str) -> str:
        """What to say where files cannot be read in the format that was given, and their names tell another."""
        if not self.is_local or (guessed := self.guess_format()) in (None, DELTA, given):
            return ""
        ends = (end for path in self.files() if _EXTENSIONS.get(end := _read_extension(path)) == guessed)
        return f"; the files end in {next(ends)}: leave out --format"


def find_table(path: str) -> str | None:
    """The name of the table that is given in place of a directory; None if it is a directory.

    >>> find_table("table:sales.trades"), find_table("trades"), find_table("file:/tmp/table:x")
    ('sales.trades', None, None)
    """
    return path.removeprefix(_PREFIX) if path.startswith(_PREFIX) else None


def is_topic(path: str) -> bool:
    """Whether a topic of Kafka's is given in place of a directory, well written or not."""
    return path.lower().startswith(_TOPIC)


def find_format(directory: Directory, given: str | None, *, has_schema: bool, known: str | None = None) -> str:
    """The format of an input: the one that is `given`, the one `known` from an earlier run, or the one of its files.

    An empty directory has a schema only if one was given, or is remembered from an earlier run.
    """
    if find_table(directory.path):
        return TABLE
    if is_topic(directory.path):
        if not has_schema:
            raise StreamJoinError(
                f"--{directory.named}-schema: {directory.path} has none of its own; give the columns of its "
                f'JSON values, such as --{directory.named}-schema "ts TIMESTAMP, id BIGINT"'
            )
        return KAFKA
    directory.check()
    empty = directory.is_local and not any(directory.files())
    if empty and not has_schema:
        and_format = "" if given else " and --format"
        raise StreamJoinError(
            f"--{directory.named}: no files in {directory.path} yet: give --{directory.named}-schema{and_format}, "
            f'such as --{directory.named}-schema "ts TIMESTAMP, id BIGINT"'
        )
    guessed = directory.guess_format() if directory.is_local else None
    asked = given or known
    if asked not in (None, DELTA) and guessed == DELTA:
        raise StreamJoinError(
            f"--format: {directory.path} is a table of Delta's, whose files may be of rows that were replaced; got "
            f"{asked}, expected delta"
        )
    if found := asked or guessed:
        return found
    what = f"no files in {directory.path} yet" if empty else f"the files in {directory.path} do not tell their format"
    example = "" if empty else " by a name such as data.json"
    raise StreamJoinError(f"--{directory.named}: {what}{example}: give --format, one of {', '.join(FORMATS)}")


def _read_extension(path: Path) -> str:
    """How a name ends, but for a compression.

    >>> _read_extension(Path("part-0.json.gz")), _read_extension(Path("part-0.snappy.parquet"))
    ('.json', '.parquet')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
