"""Logs: asked of the host, and read at an address that is signed for a minute, since clients fetch it without a token."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from accounts.models import User
from instances.access.logs import LogSearch, read_log
from instances.constants import LOG_TAIL_MOST
from vast.contracts import signed
from vast.contracts.changes import own_instance
from vast.errors import InvalidArgs
from vast.values import read_number

_SALT: Final = "berth.vast.log.1"
_VALID_S: Final = 60
_TAIL: Final = 1000
_WORDS_AT_MOST: Final = 100


def request_log(*, renter: User, number: int, body: Mapping[str, Any]) -> str:
    """Ask the host for a log, and return the signed text that `read_signed` takes.

    `tail` is a number of lines, `filter` a word that they hold; with `daemon_logs` it is the start script's log.
    """
    instance = own_instance(renter, number)
    words = body.get("filter") or ""
    if not isinstance(words, str) or len(words) > _WORDS_AT_MOST:
        raise InvalidArgs(f"filter: Send a text of at most {_WORDS_AT_MOST} characters.")
    lines = max(1, min(int(read_number("tail", body.get("tail") or _TAIL)), LOG_TAIL_MOST))
    source = "on_start" if str(body.get("daemon_logs", "")).lower() == "true" else ""
    read_log(renter=renter, instance_id=instance.pk, search=LogSearch(tail=lines, q=words, source=source))
    return signed.sign(_SALT, renter, instance.pk.hex, lines, words, source)


def read_signed(text: str) -> str | None:
    """Return the log that was asked for, or None while its host is being asked.

    Raises:
        NotFound: the text is not one of ours, or older than a minute.
    """
    renter, (instance, lines, words, source) = signed.read(_SALT, text, valid_s=_VALID_S, again="Ask for the log again.")
    search = LogSearch(tail=int(lines), q=str(words), source=str(source))
    found = read_log(renter=renter, instance_id=UUID(str(instance)), search=search)
    if found.operation is not None:
        return None
    return found.failure or "".join(f"{line}\n" for _at, line in found.lines)
