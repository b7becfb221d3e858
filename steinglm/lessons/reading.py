"""Reading lessons from their files: those that come with the library, and a teacher's own from a folder."""

import os
import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from steinglm.exceptions import InvalidInputError
from steinglm.lessons.lesson import Lesson, lesson

__all__ = ["FOLDER", "every", "read"]

FOLDER = "STEINGLM_LESSONS"  # the environment variable that names a teacher's folder
LARGEST = 64_000  # bytes of a file
NAME = re.compile(r"(?:\d+[-_])?([a-z][a-z0-9-]*)")


def read(path: Path) -> Lesson:
    """The lesson of a file; its name is the file's, without the number in front that orders the list.

    Raises
    ------
    InvalidInputError : the file cannot be read, is no TOML, or holds what a lesson cannot be
    """
    name = NAME.fullmatch(path.stem)
    if name is None:
        cure = "rename it as in 10-my-lesson.toml"
        raise InvalidInputError("a lesson's file name", "small letters, digits and hyphens", path.name, cure)
    try:
        status = path.stat()
        if status.st_size > LARGEST:
            raise InvalidInputError(path.name, f"at most {LARGEST} bytes", status.st_size, "shorten it")
        return _lesson(name[1], path, status.st_mtime_ns)
    except InvalidInputError:
        raise
    except (OSError, ValueError, RecursionError) as err:
        raise InvalidInputError(path.name, "a TOML file in UTF-8", f"an error ({err})", "correct it") from err


@lru_cache(maxsize=200)  # to check every link of a lesson takes some 30 ms, and a page reads all of them
def _lesson(name: str, path: Path, modified: int) -> Lesson:
    return lesson(name, tomllib.loads(path.read_text(encoding="utf-8")))


def every() -> tuple[dict[str, Lesson], list[InvalidInputError]]:
    """All lessons by name, in the order of their file names and the library's first, and what is wrong with others.

    A lesson that cannot be read does not take the others along.
    """
    found: dict[str, Lesson] = {}
    problems: list[InvalidInputError] = []
    own = os.environ.get(FOLDER, "")
    for folder in (Path(str(files("steinglm.lessons"))), *([Path(own)] if own else [])):
        if not folder.is_dir():
            problems.append(
                InvalidInputError(FOLDER, "a folder", str(folder), "correct or unset the variable")
            )
        for path in sorted(folder.glob("*.toml")):
            try:
                new = read(path)
                if new.name in found:
                    raise InvalidInputError(path.name, "of a new name", new.name, "rename the file")
                found[new.name] = new
            except InvalidInputError as err:
                problems.append(err)
    return found, problems
