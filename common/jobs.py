"""Interface to Celery: a hint sent after the commit; a sweep behind every hint finds the work itself."""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def enqueue(name: str, *ids: str) -> None:
    """Send task `name` with string ids after the present transaction commits.

    A lost hint costs time, not correctness.
    """
    transaction.on_commit(lambda: _send(name, ids))


def _send(name: str, ids: tuple[str, ...]) -> None:
    try:
        current_app.send_task(name, args=ids, retry=False)
    except OperationalError:
        logger.warning("hint %s%s not sent: the broker is unreachable; its sweep will do the work", name, ids)
