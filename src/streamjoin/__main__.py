"""``python -m streamjoin``: the command line."""

from streamjoin.cli.app import main

if __name__ == "__main__":
    main(prog_name="streamjoin")
