"""What a test reads of a plan of `berth plan --json`."""

from collections.abc import Callable
from typing import Any

Declare = Callable[..., str]  # writes documents to a file: each is (kind, name, spec)


def actions(plan: list[dict[str, Any]]) -> dict[str, str]:
    return {each["name"]: each["action"] for each in plan}


def calls(plan: list[dict[str, Any]]) -> list[str]:
    return [call for each in plan for call in each["calls"]]


def changed(plan: list[dict[str, Any]]) -> dict[str, tuple[Any, Any]]:
    return {change["field"]: (change["from"], change["to"]) for each in plan for change in each["changes"]}
