"""Audit of refused messages, with a limit on what unauthenticated senders can make us write."""

import logging
from collections.abc import Sequence

from agents.gateway.constants import FOREIGN_ROWS_PER_REPORT, STRANGERS_PER_WINDOW, STRANGERS_WINDOW
from agents.gateway.models import RefusedMessage
from common import clock

logger = logging.getLogger(__name__)


def record_refusal(*, claimed_host: str, reason: str, detail: str, remote_address: str, by_stranger: bool) -> None:
    logger.warning("refused a message of %s from %s: %s (%s)", claimed_host or "nobody", remote_address, reason, detail)
    if by_stranger and _has_filled_its_share(remote_address):
        return
    RefusedMessage.objects.create(
        claimed_host=claimed_host[:80], reason=reason[:40], detail=detail[:300], remote_address=remote_address[:64]
    )


def record_foreign(*, claimed_host: str, foreign: Sequence[str], remote_address: str) -> None:
    """Record instances of other hosts that a report named.

    They are ignored; the rest of the report counts (fault 89).
    """
    logger.warning("host %s reported %d instances that are not its own", claimed_host, len(foreign))
    RefusedMessage.objects.bulk_create(
        RefusedMessage(claimed_host=claimed_host, reason="foreign_instance", detail=name, remote_address=remote_address[:64])
        for name in foreign[:FOREIGN_ROWS_PER_REPORT]
    )


def _has_filled_its_share(remote_address: str) -> bool:
    recent = RefusedMessage.objects.filter(remote_address=remote_address[:64], at__gt=clock.now() - STRANGERS_WINDOW)
    return recent.count() >= STRANGERS_PER_WINDOW
