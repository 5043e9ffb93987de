"""What an agent does when the market takes nothing under its key any more: nothing, and it says so."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.protocol.messages import DesiredState

if TYPE_CHECKING:
    from agents.daemon.agent import AgentComponents

logger = logging.getLogger(__name__)


def cut_off(parts: "AgentComponents", newest: DesiredState | None) -> DesiredState | None:
    """End what runs by order; the last orders, which do not count any more."""
    logger.error(
        "REVOKED: the market takes nothing under this host's key any more. Containers stay as they are, and nobody pays for"
        " them. To go on, make a join token, type berth-agent enrol --new-key, and start the agent again."
    )
    parts.self_tester.cancel()
    parts.operations.cancel()
    if newest is None:
        return None
    frozen = replace(newest, frozen=True, tunnels=[])
    parts.streams.follow(frozen)
    return frozen
