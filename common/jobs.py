"""The only door to Celery: a hint sent after the commit. Behind every hint stands a sweep that finds the work itself."""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def enqueue(name: str, *ids: str) -> None:
    """Send task `name` with string ids once the present transaction has committed. A lost hint costs time, not truth."""
    transaction.on_commit(lambda: _send(name, ids))


def _send(name: str, ids: tuple[str, ...]) -> None:
    try:
        current_app.send_task(name, args=ids, retry=False)
    except OperationalError:
        logger.warning("hint %s%s not sent: the broker is unreachable; its sweep will do the work", name, ids)
