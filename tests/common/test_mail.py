"""The door for mail: one header line whatever is typed, no link from a name, and no other door in the code."""

import re
from pathlib import Path

import pytest
from django.core import mail
from hypothesis import given
from hypothesis import strategies as st

from common.mail import name_in_mail, one_line, send_mail

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("accounts", "agents", "billing", "common", "config", "instances", "marketplace", "storage")
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
