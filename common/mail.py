"""Sending of mail that the market writes itself: headers stay on one line, and no name becomes a link."""

import smtplib
from collections.abc import Sequence
from typing import Final

from django.core import mail

__all__ = ["MAIL_FAULTS", "concerns_one_mail", "fault_name", "name_in_mail", "one_line", "send_mail"]

# Errors of sending once headers and body are clean: the server refuses, is not available, or the address is invalid.
MAIL_FAULTS: Final = (smtplib.SMTPException, OSError, ValueError)
# These concern one mail, unless the code says that the server is not available. All others concern the server.
_OF_ONE_MAIL: Final = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError, smtplib.SMTPNotSupportedError, ValueError)
_SERVER_IS_AWAY: Final = 421

_SUBJECT_CHARS: Final = 150
_NAME_CHARS: Final = 40
_NO_NAME: Final = "–"


def send_mail(
    subject: str, body: str, sender: str | None, recipients: Sequence[str], *, message_id: str | None = None
) -> None:
    """Send plain text; no part of the subject can start another header.

    `message_id` is the same each time that a mail is sent again, so that the recipient can recognise a
    repetition.

    Raises:
        MAIL_FAULTS: one of these, when the mail cannot be sent.
    """
    headers = {} if message_id is None else {"Message-ID": message_id}
    subject = one_line(subject, most=_SUBJECT_CHARS)
    mail.EmailMessage(subject, _encodable(body), sender, list(recipients), headers=headers).send()


def concerns_one_mail(fault: Exception) -> bool:
    """Return whether the error concerns only this mail, its address or text: the server may accept others."""
    return isinstance(fault, _OF_ONE_MAIL) and _code_of(fault) != _SERVER_IS_AWAY


def fault_name(fault: Exception) -> str:
    """Return the error's class and the server's code.

    The server's text is left out: it may repeat a link from the mail.
    """
    code = _code_of(fault)
    return type(fault).__name__ if code is None else f"{type(fault).__name__} {code}"


def one_line(text: str, *, most: int) -> str:
    """Return the text without line breaks, control and direction characters, cut to `most` characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return _shortened(" ".join(printable.split()), most)


def name_in_mail(name: str, *, most: int = _NAME_CHARS) -> str:
    """Return a name typed by somebody else for mail: letters, digits, spaces and hyphens of any script.

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
    """Replace lone surrogates, which no mail can contain, by question marks."""
    return text.encode("utf-8", "replace").decode()
