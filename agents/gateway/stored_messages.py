"""Stored form of the messages that agents send.

Known progress messages are stored by their codes, so that they are translated when shown; all other text is quoted as
the host's own words.
"""

import re
from typing import Any, Final

from agents.gateway.agent_messages import SAYINGS
from agents.gateway.legacy_agent_messages import message_of_sentence
from agents.protocol.progress_messages import Said
from common.messages.message import Message, host_message

_NUMBER: Final = re.compile("[0-9]{1,15}")


def stored_detail(detail: str, said: Said | None = None) -> Message | None:
    """Return the message that is stored for a row of a report; None if the row has no text.

    An unknown code, or one with other parameters than its own, is ignored: then the sentence is quoted.
    """
    known = _known(said) if said is not None else message_of_sentence(detail)
    return host_message(detail) if known is None else known


def _known(said: Said) -> Message | None:
    form = SAYINGS.get(said.code)
    if form is None or set(form.kinds) != set(said.params):
        return None
    values: dict[str, Any] = {name: _value(form.kinds[name], text) for name, text in said.params.items()}
    return None if None in values.values() else form(**values)


def _value(kind: Any, text: str) -> int | str | Message | None:
    if kind is str:
        return text
    if kind is int:
        return int(text) if _NUMBER.fullmatch(text) else None
    return host_message(text)
