"""Keeps URLs that grant access out of pages, and out of the log, where Django writes refused paths."""

import logging
import re
from typing import Final

from django.http import HttpRequest

# An invitation to a team; a link in a mail that confirms an address, or sets a password; a token in a
# query; the address of a log.
_OPENS: Final = re.compile(
    r"(/settings/teams/join/|/accounts/confirm-email/|/accounts/password/reset/key/|/api/v0/(?:logs|results)/|[?&]api_key=)[^/&\s]+"
)


def return_address(request: HttpRequest) -> str:
    """Return the page's own URL, for a form that leads back to it.

    It is empty where the URL must not be in a page: the browser sends it then.
    """
    return "" if _OPENS.search(request.path) else request.get_full_path()


class SecretPaths(logging.Filter):
    """Filter of the log handler, so that it sees the messages of every logger."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        hidden = _OPENS.sub(r"\1…", text)
        if hidden != text:
            record.msg, record.args = hidden, ()
        return True
