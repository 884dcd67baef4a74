"""The command line."""

import click

from streamjoin.cli.advise import advise
from streamjoin.cli.demo import demo
from streamjoin.cli.run import run
from streamjoin.cli.warm import warm

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(context_settings=_CONTEXT)
@click.version_option(package_name="streamjoin")
def main() -> None:
    """Window joins on any predicate, for Spark streams.

    Shell completion: eval "$(_STREAMJOIN_COMPLETE=bash_source streamjoin)", or zsh_source, or fish_source.
    """


for command in (advise, demo, run, warm):
    main.add_command(command)
