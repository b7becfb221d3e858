"""Reading one value of a lesson's file, or an error that names the lesson, the key and the cure."""

from collections.abc import Mapping
from typing import Any

from steinglm.checks import check_choice, check_whole
from steinglm.exceptions import InvalidInputError

__all__ = ["known_keys", "listed", "number", "table", "text", "whole"]

LONGEST = 1000  # characters of one text


def known_keys(where: str, values: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a key that is not one of these: a misspelt one would be ignored."""
    for key in values:
        check_choice(f"{where}: key", key, known)


def text(where: str, values: Mapping[str, Any], key: str) -> str:
    """A text, not empty and not endless."""
    value = values.get(key)
    if not isinstance(value, str) or not 0 < len(value.strip()) <= LONGEST:
        raise InvalidInputError(
            f"{where}: {key}", f"a text of 1 to {LONGEST} characters", value, f'write {key} = "..."'
        )
    return value.strip()


def listed(where: str, values: Mapping[str, Any], key: str, count: int | None = None) -> list[str]:
    """A list of texts, of `count` if that is given."""
    value = values.get(key)
    expected = "one text or more" if count is None else f"{count} texts"
    if not isinstance(value, list) or not value or (count is not None and len(value) != count):
        raise InvalidInputError(
            f"{where}: {key}", f"a list of {expected}", value, f'write {key} = ["...", "..."]'
        )
    return [text(where, {key: each}, key) for each in value]


def table(where: str, values: Mapping[str, Any], key: str, *, optional: bool = False) -> Mapping[str, Any]:
    """A table; an empty one where it is not there and need not be."""
    value = values.get(key, {} if optional else None)
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where}: {key}", "a table", value, f"begin it with [{key}]")
    return value


def number(where: str, values: Mapping[str, Any], key: str) -> float:
    """A finite number."""
    value = values.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e300:
        raise InvalidInputError(f"{where}: {key}", "a number", value, f"write {key} = 1.0")
    return float(value)


def whole(where: str, values: Mapping[str, Any], key: str, low: int, high: int) -> int:
    """A whole number from low to high."""
    value = values.get(key)
    check_whole(f"{where}: {key}", value, low, high, "the quantity asks for it")
    assert isinstance(value, int)
    return value
