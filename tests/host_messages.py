"""What a fake host says, as rows of the domain have it."""

from typing import Any

from common.messages.message import Message, of_row


def with_message(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, in which `detail` may be written as text."""
    return {**columns, "detail": message_of(columns.get("detail"))}


def message_of(detail: str | Message | None) -> Message | None:
    return of_row(None, detail) if isinstance(detail, str) else detail
