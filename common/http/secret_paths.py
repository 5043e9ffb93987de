"""Keeps addresses that open something out of pages and out of the log, where Django writes the path of what it refuses."""

import logging
import re
from typing import Final

from django.http import HttpRequest

# An invitation to a team; a link of a mail that confirms an address, or sets a password.
_OPENS: Final = re.compile(r"(/settings/teams/join/|/accounts/confirm-email/|/accounts/password/reset/key/)[^/\s]+")


def return_address(request: HttpRequest) -> str:
    """The page's own, for a form that leads back to it; "" where it must not stand in a page: the browser says it then."""
    return "" if _OPENS.search(request.path) else request.get_full_path()


class SecretPaths(logging.Filter):
    """Of the handler, so that it sees what every logger says."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        hidden = _OPENS.sub(r"\1…", text)
        if hidden != text:
            record.msg, record.args = hidden, ()
        return True
