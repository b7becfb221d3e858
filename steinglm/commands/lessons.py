"""`lessons`: what lessons claim, measured."""

import argparse
from pathlib import Path
from typing import Any

from steinglm.lessons.claims import holds
from steinglm.lessons.reading import every, read

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    lessons = commands.add_parser(
        "lessons",
        help="measure what lessons claim",
        description="Measure both sides of every claim of lessons, and say whether it holds: status 1 if one does not.",
    )
    lessons.set_defaults(command=_lessons)
    lessons.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="TOML; the library's lessons if none"
    )


def _lessons(options: argparse.Namespace) -> int:
    chosen = [read(path) for path in options.files] or list(every()[0].values())
    false = 0
    for lesson in chosen:
        print(lesson.name)
        for finding in holds(lesson):
            false += finding.holds is False
            print(f"  {finding}")
    return int(false > 0)
