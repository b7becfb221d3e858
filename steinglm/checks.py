"""The options that the initializers accept, each refused with what to do about it."""

import sys

from steinglm.exceptions import InvalidInputError

__all__ = ["check_alpha", "check_choice", "check_most"]


def check_alpha(alpha: float | str | None) -> None:
    """Refuse a scaling factor that is no positive number, 'auto' or None."""
    number = (
        isinstance(alpha, int | float) and not isinstance(alpha, bool) and 0 < alpha <= sys.float_info.max
    )
    if not (number or alpha is None or alpha == "auto"):
        raise InvalidInputError(
            "alpha", "a positive number, 'auto' or None", alpha, "1 suits tanh, 4 sigmoid"
        )


def check_choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise InvalidInputError(argument, f"one of {', '.join(choices)}", value, "choose one of these")


def check_most(value: int | None) -> None:
    """Refuse a number of patches that is not 1 or more, or None."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise InvalidInputError("max_patches", "1 or more, or None", value, "None takes every patch")
