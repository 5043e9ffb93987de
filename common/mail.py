"""The one door for mail that the market words itself: headers stay on one line, and no name becomes a link."""

import smtplib
from collections.abc import Sequence
from typing import Final

from django.core import mail

__all__ = ["MAIL_FAULTS", "fault_name", "is_of_one_mail", "name_in_mail", "one_line", "send_mail"]

# What sending may raise once headers and body are clean: the server refuses, is away, or the address is none.
MAIL_FAULTS: Final = (smtplib.SMTPException, OSError, ValueError)
# These speak against one mail, unless the code says that the server is away. All others are the server's own.
_OF_ONE_MAIL: Final = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError, smtplib.SMTPNotSupportedError, ValueError)
_SERVER_IS_AWAY: Final = 421

_SUBJECT_CHARS: Final = 150
_NAME_CHARS: Final = 40
_NO_NAME: Final = "–"


def send_mail(
    subject: str, body: str, sender: str | None, recipients: Sequence[str], *, message_id: str | None = None
) -> None:
    """Send plain text. No part of the subject can begin another header. Raises one of MAIL_FAULTS.

    `message_id`: the same each time that a mail is sent again, so that whoever receives it twice can tell.
    """
    headers = {} if message_id is None else {"Message-ID": message_id}
    subject = one_line(subject, most=_SUBJECT_CHARS)
    mail.EmailMessage(subject, _encodable(body), sender, list(recipients), headers=headers).send()


def is_of_one_mail(fault: Exception) -> bool:
    """Whether it speaks against this mail alone, its address or what it says: another one may well be taken."""
    return isinstance(fault, _OF_ONE_MAIL) and _code_of(fault) != _SERVER_IS_AWAY


def fault_name(fault: Exception) -> str:
    """Its kind and the server's code. Not the server's words: they may repeat a link that stands in the mail."""
    code = _code_of(fault)
    return type(fault).__name__ if code is None else f"{type(fault).__name__} {code}"


def one_line(text: str, *, most: int) -> str:
    """The text without line breaks, control and direction characters, shortened to `most` characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return _shortened(" ".join(printable.split()), most)


def name_in_mail(name: str, *, most: int = _NAME_CHARS) -> str:
    """A name that somebody else typed, as mail may show it: letters, digits, spaces and hyphens of any script.

    Dots, colons, slashes and the like become spaces, so no mail program finds an address in it to make a link of.
    """
    plain = "".join(character if _is_plain(character) else " " for character in name)
    return _shortened(" ".join(plain.split()), most) or _NO_NAME


def _code_of(fault: Exception) -> int | None:
    if isinstance(fault, smtplib.SMTPRecipientsRefused):
        return next((answer[0] for answer in fault.recipients.values()), None)
    return fault.smtp_code if isinstance(fault, smtplib.SMTPResponseException) else None


def _is_plain(character: str) -> bool:
    return character.isprintable() and (character.isalnum() or character == "-")


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _encodable(text: str) -> str:
    """Lone surrogates, which no mail can hold, become question marks."""
    return text.encode("utf-8", "replace").decode()
