"""Reaction of an agent whose key was revoked: it stops acting and says so."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.protocol.messages import DesiredState

if TYPE_CHECKING:
    from agents.daemon.agent import AgentComponents

logger = logging.getLogger(__name__)


def stop_revoked_agent(parts: "AgentComponents", newest: DesiredState | None) -> DesiredState | None:
    """End all ordered work and return the last desired state as a frozen one."""
    logger.error(
        "REVOKED: the market takes nothing under this host's key any more. Containers stay as they are, and nobody pays for"
        " them. To go on, make a join token, type berth-agent enrol --new-key, and start the agent again."
    )
    parts.self_tester.cancel()
    parts.operations.cancel()
    if newest is None:
        return None
    frozen = replace(newest, frozen=True, tunnels=[])
    parts.streams.apply(frozen)
    return frozen
