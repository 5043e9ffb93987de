"""Storage form of the sentences that agents send.

Progress texts that the market knows stay as they are, so that they are translated when shown; all other text is
marked as the host's own words.
"""

from agents.gateway.agent_messages import SAID_BEFORE
from common.messages import Message, host_message


def as_said(detail: str) -> Message | None:
    """What a row of a report says; None for one that says nothing."""
    known = SAID_BEFORE.get(detail)
    return known() if known is not None else host_message(detail)
