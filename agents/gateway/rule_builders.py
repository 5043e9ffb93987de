"""Builders of validation rules for single values; the error of each rule says what was expected."""

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from agents.protocol.codec import NO_STAND_IN, Rule
from common.addresses import parse_address
from common.errors import InvalidInput
from common.printable import cut_printable

ANY = Rule(lambda value: value)  # the type alone is checked


def text(size: int) -> Rule:
    """Build a rule for text shown to people: it is made printable and cut, never refused."""
    return Rule(lambda value: cut_printable(value, size))


def whole(least: float, most: float, instead: Any = NO_STAND_IN) -> Rule:
    return Rule(_between(least, most), instead)


real = whole  # the field's type tells the two apart


def matching(pattern: str, instead: Any = NO_STAND_IN) -> Rule:
    shape = re.compile(pattern)

    def read(value: str) -> str:
        if not shape.fullmatch(value):
            raise ValueError(f"of the form {pattern}")
        return value

    return Rule(read, instead)


def code(known: Collection[str], instead: Any = NO_STAND_IN) -> Rule:
    """Build a rule that accepts the members of a closed vocabulary."""

    def read(value: str) -> str:
        if value not in known:
            raise ValueError("a code that is known here")
        return value

    return Rule(read, instead)


def word_list(pattern: str, most: int) -> Rule:
    """Build a rule for a list of words: items of another form are left out, and the list is cut at `most`."""
    return Rule(matching(pattern).read, each=most)


def texts(size: int, most: int) -> Rule:
    return Rule(text(size).read, each=most)


def at_most(count: int) -> Rule:
    return Rule(lambda values: values[:count])


def newest(count: int, least: int, most: int) -> Rule:
    """Build a rule for a list of whole numbers, oldest first, that keeps the last `count`.

    Each must be within bounds.
    """
    check = _between(least, most)
    return Rule(lambda values: [check(value) for value in values[-count:]])


def optional(rule: Rule) -> Rule:
    """Build a rule that accepts None as well."""
    return Rule(lambda value: None if value is None else rule.read(value), rule.instead)


def or_empty(rule: Rule) -> Rule:
    return Rule(lambda value: value and rule.read(value), rule.instead)


def vital(rule: Rule) -> Rule:
    """Build a rule whose refusal costs the part that holds the field, although the field has a default."""
    return replace(rule, vital=True)


def only(known: dict[str, Rule]) -> Rule:
    """Build a rule for a mapping that keeps known keys, whose values must pass their own rules."""

    def read(table: dict[str, str]) -> dict[str, str]:
        return {key: known[key].read(value) for key, value in table.items() if key in known}

    return Rule(read)


def equal_lengths(parts: Any) -> Any:
    """Return the value if all its lists have equal length.

    Raises:
        ValueError: They do not.
    """
    if parts is not None and len({len(part) for part in vars(parts).values()}) > 1:
        raise ValueError("lists of equal length")
    return parts


def _between(least: float, most: float) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not least <= value <= most:
            raise ValueError(f"from {least} to {most}")
        return value

    return read


def _address(value: str) -> str:
    try:
        return value and parse_address(value)
    except InvalidInput as error:
        raise ValueError("a host name or an IP address that renters can reach") from error


ADDRESS = Rule(_address, "")
