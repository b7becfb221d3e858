"""The library from a terminal.

`compare` trains an experiment, `sweep` a grid of them; `paper` runs the paper's study, `league` compares all entries;
`lessons` measures what lessons claim.
"""

import argparse
import sys
from collections.abc import Sequence

from steinglm import __version__
from steinglm.commands import compare, lessons, studies, sweep
from steinglm.exceptions import SteinGLMError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line: 0 if all went well, 1 if a lesson's claim does not hold.

    2, with one line on standard error, if the input cannot be used; 130 if it was interrupted.
    """
    options = _parser().parse_args(arguments)
    try:
        status: int | None = options.command(options)
    except SteinGLMError as err:
        print(f"steinglm: {err}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        goes_on = getattr(options, "goes_on", False)
        kept = "; what was finished is kept, and the same command goes on" if goes_on else ""
        print(f"steinglm: interrupted{kept}", file=sys.stderr)
        return 130
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m steinglm", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for add in (compare.add, sweep.add, studies.add_paper, studies.add_league, lessons.add):
        add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
