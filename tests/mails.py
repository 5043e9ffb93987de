"""Mail that has left the outbox, and workers that die while they send it."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from django.core import mail

from accounts.mail.outbox import send_mails
from common import clock


class Killed(BaseException):
    """The worker's end: nothing after it runs."""


def sent(words: str = "") -> list[mail.EmailMessage]:
    """All mail whose subject has these words; what is due leaves before."""
    while send_mails(now=clock.now()):
        pass
    return [message for message in mail.outbox if words in message.subject]


@contextmanager
def killed_at(place: str) -> Iterator[None]:
    """Whoever comes by there dies there."""
    with patch(place, side_effect=Killed), pytest.raises(Killed):
        yield
