"""Logging in with a code that a person allows in a browser, on this machine or another one (RFC 8628)."""

import os
import platform
import sys
import time
from collections.abc import Sequence

from berth import Client, errors
from berth.cli.framework import Refused, printable, session

# What the commands need; `berth token create` and changes of the account are left to the console, and to --scope.
SCOPES = (
    *("instances:read", "instances:write", "instances:connect", "storage:read", "storage:write"),
    *("billing:read", "keys:read", "keys:write", "hosts:read", "hosts:write"),
)
_SLOWER_S = 5
_LONGEST_S, _LONGEST_PAUSE_S = 3600, 60


def token_by_device(address: str, scopes: Sequence[str]) -> str:
    """Show a code, and return the token once somebody has allowed it.

    Raises:
        Refused: it was refused, or nobody answered in time.
    """
    machine = "".join(each for each in platform.node() if each.isascii() and each.isprintable())[:40]
    with Client(address, "", application="berth-cli") as client:
        login = client.device_logins.create(client=f"berth on {machine or 'a machine'}", scopes=list(scopes))
        session().out.note(f"Open {login.verification_uri} and enter the code {login.user_code}")
        _open_browser(login.verification_uri_complete)
        ends, interval = time.monotonic() + min(login.expires_in, _LONGEST_S), min(max(login.interval, 1), _LONGEST_PAUSE_S)
        while time.monotonic() < ends:
            time.sleep(interval)
            try:
                return client.device_logins.token(device_code=login.device_code).access_token
            except errors.InvalidRequest as refused:
                if refused.code not in ("authorization_pending", "slow_down"):
                    raise Refused(f"Not logged in: {printable(refused.detail)}.", 3) from refused
                interval += _SLOWER_S if refused.code == "slow_down" else 0
            except (errors.ConnectionFailed, errors.ServerError, errors.TooManyRequests):
                interval = min(
                    interval + _SLOWER_S, _LONGEST_PAUSE_S
                )  # the person may have answered: only the market is away
    raise Refused("Not logged in: nobody allowed it in time.", 8)


def _open_browser(url: str) -> None:
    """Open the page where somebody sits in front of a screen; elsewhere the printed address has to do."""
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("darwin", "win32")
    if has_screen and session().may_ask() and url.startswith(("https://", "http://")):
        import webbrowser

        webbrowser.open(url)
