"""The door for mail: one header line whatever is typed, no link from a name, and no other door in the code."""

import re
from pathlib import Path
from smtplib import (
    SMTPAuthenticationError,
    SMTPDataError,
    SMTPRecipientsRefused,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)

import pytest
from django.core import mail
from hypothesis import given
from hypothesis import strategies as st

from common.mail import concerns_one_mail, fault_name, name_in_mail, one_line, send_mail

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("accounts", "agents", "billing", "common", "config", "instances", "marketplace", "storage", "vast", "workloads")
HOSTILE = "x\r\nBcc: evil@b.c\u2028\u202e\x00 http://evil.example/a"


@given(st.text(max_size=300))
def test_every_text_is_one_printable_line(text: str) -> None:
    line = one_line(text, most=150)
    assert len(line) <= 150
    assert line.isprintable()
    assert len(line.splitlines()) <= 1


@given(st.text(max_size=300))
def test_no_name_holds_what_an_address_needs(name: str) -> None:
    shown = name_in_mail(name)
    assert shown
    assert len(shown) <= 40
    assert not set(shown) & set(".:/@\\?#&=%<>\"'()[]")
    assert all(letter.isalnum() or letter in " -…–" for letter in shown)


@pytest.mark.parametrize("dot", [".", "。", "．", "｡", "․", "‧"])
def test_no_dot_of_any_script_joins_a_domain(dot: str) -> None:
    assert name_in_mail(f"https://evil{dot}example") == "https evil example"


def test_a_hostile_subject_and_body_leave_as_one_mail() -> None:
    send_mail(HOSTILE, "body \ud800", None, ["kim@example.com"])
    message = mail.outbox[-1].message()
    assert message["Bcc"] is None
    assert message["To"] == "kim@example.com"
    assert "\n" not in mail.outbox[-1].subject
    assert message.as_bytes()


def test_there_is_no_other_door() -> None:
    """Whoever sends past common.mail sends headers that nobody has cleaned."""
    past = re.compile(
        r"(from|import) django\.core\.mail|django\.core import mail|import smtplib|EmailMessage\(|mail_admins|email_user"
    )
    paths = (path for app in APPS for path in (ROOT / app).rglob("*.py") if path != ROOT / "common" / "mail.py")
    found = [path for path in paths if past.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_everybody_else_goes_through_the_outbox() -> None:
    """Whoever sends by themselves loses mail with a worker, or holds one up."""
    sends = re.compile(r"\bsend_mail\b")
    allowed = {ROOT / "common" / "mail.py", ROOT / "accounts" / "mail" / "outbox.py"}
    allowed.add(ROOT / "accounts" / "web" / "users" / "allauth_adapter.py")  # allauth's name for it: there it queues
    paths = (path for app in APPS for path in (ROOT / app).rglob("*.py") if path not in allowed)
    assert [path for path in paths if sends.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("fault", "of_one_mail", "name"),
    [
        (SMTPRecipientsRefused({"a@b.c": (550, b"see http://secret")}), True, "SMTPRecipientsRefused 550"),
        (SMTPRecipientsRefused({"a@b.c": (421, b"closing")}), False, "SMTPRecipientsRefused 421"),
        (SMTPDataError(554, b"spam: http://secret"), True, "SMTPDataError 554"),
        (SMTPSenderRefused(550, b"who are you", "market@b.c"), False, "SMTPSenderRefused 550"),
        (SMTPAuthenticationError(535, b"no"), False, "SMTPAuthenticationError 535"),
        (SMTPServerDisconnected("gone"), False, "SMTPServerDisconnected"),
        (TimeoutError("timed out"), False, "TimeoutError"),
        (ValueError("bad header"), True, "ValueError"),
    ],
)
def test_whose_fault_it_is_and_no_word_of_the_servers(fault: Exception, of_one_mail: bool, name: str) -> None:
    assert (concerns_one_mail(fault), fault_name(fault)) == (of_one_mail, name)
