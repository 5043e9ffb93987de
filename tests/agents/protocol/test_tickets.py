"""Tickets: good for one topic, for a time, from whoever knows the secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.protocol.tickets import BadTicket, Ticket, read_ticket, sign_ticket

SECRET = "relay-secret"
GOOD = sign_ticket(SECRET, topic="host:ab", expires_at=1000)


def test_a_good_ticket_is_read() -> None:
    assert read_ticket(SECRET, GOOD, now=999.9) == Ticket("host:ab", 1000)


def test_it_ends_on_time() -> None:
    with pytest.raises(BadTicket, match="expired"):
        read_ticket(SECRET, GOOD, now=1000)


def test_another_secret_forged_it() -> None:
    with pytest.raises(BadTicket, match="forged"):
        read_ticket("other", GOOD, now=0)


@given(st.integers(0, len(GOOD) - 1), st.characters(codec="ascii"))
def test_no_letter_can_be_changed(position: int, letter: str) -> None:
    changed = GOOD[:position] + letter + GOOD[position + 1 :]
    try:
        assert read_ticket(SECRET, changed, now=0) == Ticket("host:ab", 1000)
    except BadTicket:
        assert changed != GOOD


@given(st.text())
def test_nonsense_is_malformed_never_an_error(text: str) -> None:
    with pytest.raises(BadTicket):
        read_ticket(SECRET, text, now=0)
