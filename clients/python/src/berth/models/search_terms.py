# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class SearchLimits(Struct, frozen=True, kw_only=True):
    """Limits of a search."""

    line_characters: int
    conditions: int
    list_values: int


class SearchTerm(Struct, frozen=True, kw_only=True):
    """One term or option of the search box.

    Attributes:
        kind: number, money, version, choice, flag or text
        unit: Default unit of a number
        parameters: The same as a URL parameter
        units: Accepted units after a number
        choices: All choices, or the known ones
    """

    name: str
    kind: str
    unit: str
    ops: list[str]
    parameters: list[str]
    units: list[str]
    choices: list[str]
    about: str


class SearchTerms(Struct, frozen=True, kw_only=True):
    """The grammar of the search box."""

    example: str
    terms: list[SearchTerm]
    wishes: list[SearchTerm]
    limits: SearchLimits
