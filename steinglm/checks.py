"""Options and settings, each refused with what was expected and what to do about it."""

import math
import os
import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import TypeVar

from steinglm.exceptions import InvalidInputError

__all__ = [
    "bound", "check_alpha", "check_between", "check_choice", "check_flag", "check_methods", "check_positive",
    "check_whole", "variable",
]  # fmt: skip

T = TypeVar("T")


def check_alpha(alpha: float | str | None) -> None:
    """Refuse a scaling factor that is no positive number, 'auto' or None."""
    number = (
        isinstance(alpha, int | float) and not isinstance(alpha, bool) and 0 < alpha <= sys.float_info.max
    )
    if not (number or alpha is None or alpha == "auto"):
        raise InvalidInputError(
            "alpha", "a positive number, 'auto' or None", alpha, "1 suits tanh, 4 sigmoid"
        )


def check_choice(argument: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        close = get_close_matches(str(value), choices, n=1)
        cure = f"did you mean {close[0]!r}?" if close else "choose one of these"
        raise InvalidInputError(argument, f"one of {', '.join(choices)}", value, cure)


def check_flag(argument: str, value: object, cure: str) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise InvalidInputError(argument, "True or False", value, cure)


def check_whole(
    argument: str, value: object, low: int, high: int, cure: str, *, optional: bool = False
) -> None:
    """Refuse what is no whole number from low to high; `optional` lets None through."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInputError(argument, f"{low}..{high}", value, cure)


def check_positive(argument: str, value: object, high: float, cure: str) -> float:
    """The value as a float, if it is a positive number up to `high`."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and 0 < value <= min(high, sys.float_info.max)):  # type: ignore[operator]
        limit = "" if high == math.inf else f" up to {high:g}"
        raise InvalidInputError(argument, f"a positive number{limit}", value, cure)
    return float(value)  # type: ignore[arg-type]


def check_between(argument: str, value: object, low: float, high: float, cure: str) -> float:
    """The value as a float, if it is a number from low to high; inf is one, if high is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and low <= value <= high):  # type: ignore[operator]
        raise InvalidInputError(argument, f"a number from {low:g} to {high:g}", value, cure)
    return float(value)  # type: ignore[arg-type]


def check_methods(methods: object, known: tuple[str, ...]) -> tuple[str, ...]:
    """The methods as a tuple of different known names, one at least."""
    names = tuple(methods) if isinstance(methods, list | tuple) else (methods,)
    if not names:
        raise InvalidInputError(
            "methods", f"one or more of {', '.join(known)}", "none", "choose at least one"
        )
    for name in names:
        check_choice("methods", name, known)
    if len(set(names)) < len(names):
        raise InvalidInputError("methods", "different from one another", names, "name each method once")
    return names


def variable(name: str, kind: Callable[[str], T], default: T, expected: str = "a number") -> T:
    """An environment variable's value, read by `kind`; the default where it is not set or empty."""
    text = os.environ.get(name, "")
    try:
        return kind(text) if text else default
    except ValueError as error:
        raise InvalidInputError(name, expected, text, "correct or unset the variable") from error


def bound(name: str, default: int) -> int:
    """An environment variable that is a whole number of 1 or more."""
    return variable(name, _counting, default, "a whole number, 1 or more")


def _counting(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError(text)
    return int(text)
