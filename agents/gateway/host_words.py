"""Stored form of the messages that agents send.

Known progress messages are stored by their codes, so that they are translated when shown; all other text is quoted as
the host's own words.
"""

from typing import Any

from agents.gateway.agent_messages import SAID_BEFORE, SAYINGS
from agents.protocol.sentences import Said
from common.messages import Message, host_message


def stored_detail(detail: str, said: Said | None = None) -> Message | None:
    """Return the message that is stored for a row of a report; None if the row has no text.

    An unknown code, or one with other parameters than its own, is ignored: then the sentence is quoted.
    """
    known = _known(said) if said is not None else SAID_BEFORE.get(detail, lambda: None)()
    return host_message(detail) if known is None else known


def _known(said: Said) -> Message | None:
    form = SAYINGS.get(said.code)
    if form is None or set(form.kinds) != set(said.params):
        return None
    values: dict[str, Any] = {name: _value(form.kinds[name], text) for name, text in said.params.items()}
    return None if None in values.values() else form(**values)


def _value(kind: Any, text: str) -> int | Message | None:
    return int(text) if kind is int else host_message(text)
