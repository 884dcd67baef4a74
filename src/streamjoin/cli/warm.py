"""``streamjoin warm``: all that is compiled on a machine, compiled ahead, for images and clusters."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from streamjoin.cli.words import count
from streamjoin.errors import StreamJoinError


@click.command()
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where to keep the code, as STREAMJOIN_CACHE_DIR says.",
)
@click.option("--on", metavar="SQL", multiple=True, help="A condition to compile, too; may be given several times.")
@click.option("--left-schema", metavar="DDL", help='For --on: the columns, such as "ts TIMESTAMP, x INT, y FLOAT".')
@click.option("--right-schema", metavar="DDL", help="Likewise; by default that of the left side.")
def warm(directory: Path | None, on: tuple[str, ...], left_schema: str | None, right_schema: str | None) -> None:
    """Compile ahead what joins would compile when they are first run.

    For images and clusters: every kernel for every type, and the conditions that are given. Needs neither Spark nor
    Java. Where everything is compiled already, this takes a moment.
    """
    from streamjoin.compile.ahead import CompileCounter

    console, errors = Console(), Console(stderr=True)
    if on and not left_schema:
        raise click.UsageError("--on needs --left-schema, or the types of its columns are not known")
    if directory is not None:
        os.environ["STREAMJOIN_CACHE_DIR"] = str(directory.absolute())
    try:
        place = _place(directory)
        steps = _steps(on, left_schema or "", right_schema or left_schema or "")
        started, compiled = perf_counter(), CompileCounter()
        _run(steps, console)
    except StreamJoinError as error:
        errors.print("[red]error:[/]", escape(str(error)), soft_wrap=True, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        errors.print("interrupted; a later run goes on with what is missing")
        sys.exit(130)
    seconds = perf_counter() - started
    said = (
        f"{count(compiled.count, 'kernel')} compiled in {seconds:.1f} s"
        if compiled.count
        else "all was compiled already"
    )
    console.print(f"{said}; code is in {place}", soft_wrap=True, highlight=False)


def _place(asked_for: Path | None) -> Path:
    """Where code goes; a directory that was asked for and cannot be used is an error, as nobody else would look."""
    from streamjoin.compile.place import is_writable, places
    from streamjoin.private import check_private

    try:
        if asked_for is not None:
            for path in (*reversed(asked_for.absolute().parents), asked_for):
                if not path.exists():
                    path.mkdir()
                    path.chmod(0o755)  # whatever the umask: others may read what root has warmed
            return check_private(asked_for)
    except OSError as error:
        raise StreamJoinError(f"--directory: {asked_for} cannot be used: {error}") from error
    trusted = places()
    if not is_writable(trusted):
        raise StreamJoinError("no directory can be written to; name one with --directory")
    return trusted[-1]


def _steps(on: tuple[str, ...], left: str, right: str) -> list[Callable[[], object]]:
    from streamjoin.compile.ahead import leave_mark
    from streamjoin.match.warm import everything, outline, warm_join
    from streamjoin.operators.types import Schema
    from streamjoin.predicate import parse
    from streamjoin.spec.window import within
    from streamjoin.worker.warm import list_reductions, warm_reduction

    window = within("1 minute")  # any one: what is compiled does not depend on how long it is
    steps = everything()
    steps += [partial(warm_reduction, plan) for plan in list_reductions()]
    for condition in on:
        join = parse(condition, Schema.from_ddl(left), Schema.from_ddl(right)), window
        steps += [partial(warm_join, *join), partial(leave_mark, outline(*join))]
    return steps


def _run(steps: list[Callable[[], object]], console: Console) -> None:
    """Take all steps, with a bar on a terminal."""
    columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for step in progress.track(steps):
            step()
