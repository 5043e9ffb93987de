"""The outbox of mail: none is lost, none is sent for what was rolled back, and no mail server holds anything up."""

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings as site
from django.core import mail
from django.db import IntegrityError, connection, transaction
from django.test import Client

from accounts import tasks
from accounts.constants import MAIL_CLAIM, MAIL_KEPT, MAIL_REST, MAIL_TRIED, MAIL_WAITS
from accounts.mail import outbox
from accounts.mail.outbox import delete_old_mails, queue_mail, send_mails, withdraw_mails
from accounts.models import OutgoingMail, User
from accounts.users.profile import add_person
from common import clock
from common.db.transactions import use_case
from tests.accounts.mail_server import MailServer, mail_server
from tests.billing.money import in_parallel
from tests.mails import Killed

pytestmark = pytest.mark.django_db(transaction=True)

LINK = "http://127.0.0.1:8000/accounts/password/reset/key/secret-of-kim"
SECOND = timedelta(seconds=1)


def put(*to: str, **fields: Any) -> None:
    with use_case():
        for name in to or ("kim",):
            queue_mail(to=f"{name}@example.com", subject=f"Hello {name}", body=f"Here: {LINK}", **fields)


def row(name: str = "kim") -> OutgoingMail:
    return OutgoingMail.objects.get(to=f"{name}@example.com")


def receivers() -> list[str]:
    return [address.partition("@")[0] for message in mail.outbox for address in message.to]


@pytest.fixture
def server(settings: Any) -> Iterator[MailServer]:
    """A real one, that is given a third of a second for each answer."""
    with mail_server() as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", running.port, 0.3
        yield running


# -- what is queued


def test_what_was_rolled_back_is_told_to_nobody() -> None:
    with suppress(RuntimeError), use_case():
        queue_mail(to="kim@example.com", subject="x", body="y")
        raise RuntimeError
    assert (send_mails(now=clock.now()), OutgoingMail.objects.count()) == (0, 0)


def test_the_same_news_is_queued_once_even_after_it_was_sent() -> None:
    put(key="watch:1")
    put(key="watch:1")
    assert [send_mails(now=clock.now()) for _ in range(2)] == [1, 0]
    put(key="watch:1")
    put(key="watch:2")
    assert send_mails(now=clock.now()) == 1


def test_two_that_tell_the_same_at_once_queue_it_once() -> None:
    assert in_parallel([partial(put, key="watch:1")] * 6) == [None] * 6
    assert OutgoingMail.objects.count() == 1


def test_what_does_not_hold_any_more_is_taken_back_until_it_has_left() -> None:
    put(key="notice:1")
    assert (withdraw_mails(["notice:1", "notice:2"]), send_mails(now=clock.now())) == (1, 0)
    put(key="notice:1")
    assert (send_mails(now=clock.now()), withdraw_mails(["notice:1"])) == (1, 0)


# -- workers that die, and more than one


@pytest.mark.parametrize("sent_before", [False, True])
def test_a_worker_that_dies_loses_no_mail_and_doubles_at_most_the_one_in_hand(sent_before: bool) -> None:
    put("kim", "lee")
    real: Callable[..., int] = mail.EmailMessage.send

    def die(*message: Any, **options: Any) -> None:
        if sent_before:
            real(*message, **options)
        raise Killed

    with patch("common.mail.mail.EmailMessage.send", die), pytest.raises(Killed):
        send_mails(now=clock.now())
    assert send_mails(now=clock.now()) == 1, "the other one, by another worker at once"
    assert send_mails(now=clock.now() + MAIL_CLAIM - SECOND) == 0, "the dead one's hand may still be on it"
    later = clock.now() + MAIL_CLAIM
    assert [send_mails(now=later) for _ in range(2)] == [1, 0]
    assert sorted(receivers()) == ["kim"] * (1 + sent_before) + ["lee"]


def test_a_worker_that_dies_before_it_begins_loses_nothing() -> None:
    with patch("accounts.mail.outbox.enqueue"):  # and the hint with it
        put()
    assert send_mails(now=clock.now()) == 1


def test_a_claim_outlives_the_task_that_made_it() -> None:
    limit = tasks.send_mails.time_limit
    assert limit is not None and timedelta(seconds=limit) < MAIL_CLAIM


@contextmanager
def everybody(_lock: int) -> Iterator[bool]:
    yield True


@pytest.mark.parametrize("alone", [True, False])
def test_of_senders_at_once_none_sends_what_another_has_in_hand(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without the lock that lets one of them work at a time: each row has one claim."""
    if not alone:
        monkeypatch.setattr(outbox, "exclusive_lock", everybody)
    names = [f"p{number}" for number in range(20)]
    put(*names)
    sent = in_parallel([partial(send_mails, now=clock.now())] * 6)
    assert sum(count for count in sent if isinstance(count, int)) == len(mail.outbox) == 20, sent
    assert sorted(receivers()) == sorted(names)


def test_a_mail_that_is_sent_twice_has_one_message_id_and_each_mail_its_own(mailoutbox: list[mail.EmailMessage]) -> None:
    """Sent after the dump that a market is restored from, it waits there still: only the row is the same."""
    put("kim", "lee")
    assert send_mails(now=clock.now()) == 2
    restored = OutgoingMail.objects.filter(to="kim@example.com")
    restored.update(sent_at=None, body="again", tries=0, due_at=clock.now())
    assert send_mails(now=clock.now()) == 1
    ids = [(message.to[0], message.message()["Message-ID"]) for message in mailoutbox]
    assert len(ids) == 3 and len(set(ids)) == len({name for _, name in ids}) == 2


# -- mail servers


def test_nothing_is_open_in_the_database_while_the_server_is_asked() -> None:
    put()
    seen: list[bool] = []
    with patch("common.mail.mail.EmailMessage.send", lambda *_: seen.append(connection.in_atomic_block)):
        assert send_mails(now=clock.now()) == 1
    assert seen == [False]


def test_a_server_that_hangs_costs_one_timeout_and_is_left_alone_for_a_while(server: MailServer) -> None:
    server.hangs = True
    put("a", "b", "c", "d", "e")
    now, begun = clock.now(), time.monotonic()
    assert [send_mails(now=now), send_mails(now=now + MAIL_REST - SECOND)] == [0, 0]
    assert (server.asked, time.monotonic() - begun < 2) == (1, True)
    server.hangs = False
    assert send_mails(now=now + MAIL_REST) == 5
    assert sorted(to for to, _ in server.taken) == [f"{name}@example.com" for name in "abcde"]


def test_a_server_that_is_away_loses_nothing(server: MailServer, settings: Any) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        settings.EMAIL_PORT = nobody.getsockname()[1]
        put("a", "b")
        now = clock.now()
        assert send_mails(now=now) == 0
        assert (row("a").fault, row("b").tries) == ("ConnectionRefusedError", 0)
    settings.EMAIL_PORT = server.port
    assert send_mails(now=now + MAIL_REST) == 2


def test_an_address_that_is_refused_for_good_holds_up_no_other_and_is_given_up(
    server: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.refused["b@example.com"] = f"550 no such box, and {LINK} is spam"
    put("a", "b", "c")
    now = clock.now()
    assert send_mails(now=now) == 2
    waits = []
    while row("b").given_up_at is None:
        waits.append(row("b").due_at - now)
        now = row("b").due_at
        send_mails(now=now)
    assert tuple(waits[: len(MAIL_WAITS)]) == MAIL_WAITS
    assert set(waits[len(MAIL_WAITS) : -1]) == {MAIL_WAITS[-1]}
    assert now == row("b").expires_at == row("b").given_up_at
    assert abs(now - row("b").created_at - MAIL_TRIED) < SECOND
    (given_up,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "given up" in given_up.message
    assert (row("b").body, row("b").fault) == ("", "SMTPRecipientsRefused 550")
    assert "secret-of-kim" not in caplog.text
    assert [to for to, _ in server.taken] == ["a@example.com", "c@example.com"]


def test_a_server_that_goes_away_between_two_is_not_taken_for_a_refused_address(server: MailServer) -> None:
    server.refused["a@example.com"] = "421 closing"
    put("a", "b")
    assert send_mails(now=clock.now()) == 0
    assert row("b").tries == 0


@pytest.mark.parametrize("tried", [False, True])
def test_what_is_out_of_date_is_not_sent(tried: bool, caplog: pytest.LogCaptureFixture) -> None:
    now = clock.now()
    put(key="watch:1", expires_at=now + timedelta(minutes=10))
    if tried:
        with patch("common.mail.mail.EmailMessage.send", side_effect=OSError("away")):
            assert send_mails(now=now) == 0
    assert send_mails(now=now + timedelta(minutes=10)) == 0
    assert (row().given_up_at is not None, row().body, mail.outbox) == (True, "", [])
    assert "given up" in caplog.text


def test_every_process_has_a_timeout_for_mail() -> None:
    assert 0 < site.EMAIL_TIMEOUT <= 10


# -- what stays


def test_a_link_that_lets_someone_in_goes_with_the_mail(client: Client) -> None:
    add_person(email="kim@example.com", password="the-old-password-7")
    client.post("/accounts/password/reset/", {"email": "kim@example.com"})
    assert "/password/reset/key/" in row().body
    assert send_mails(now=clock.now()) == 1
    assert "/password/reset/key/" in str(mail.outbox[0].body)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM accounts_outgoingmail m WHERE m::text LIKE '%/password/reset/%'")
        assert cursor.fetchone() == (0,)


@pytest.mark.parametrize("end", ["sent_at", "given_up_at"])
def test_the_database_refuses_a_body_of_a_mail_that_is_over(end: str) -> None:
    put()
    with pytest.raises(IntegrityError, match="mail_that_is_over_has_no_body"), transaction.atomic():
        OutgoingMail.objects.update(**{end: clock.now()})


def test_what_is_over_is_forgotten_after_a_week_and_what_waits_is_not() -> None:
    put("sent")
    send_mails(now=clock.now())
    put("waits", expires_at=clock.now() + timedelta(days=30))
    later = clock.now() + MAIL_KEPT
    assert (delete_old_mails(now=later - timedelta(minutes=1)), delete_old_mails(now=later)) == (0, 1)
    assert row("waits")


def test_the_panel_shows_what_waits_and_no_body(stella: User, client: Client) -> None:
    put(key="invitation:1")
    with patch("common.mail.mail.EmailMessage.send", side_effect=OSError("away")):
        send_mails(now=clock.now())
    client.force_login(stella)
    shown = client.get("/admin/accounts/outgoingmail/").content.decode()
    one = client.get(f"/admin/accounts/outgoingmail/{row().pk}/change/").content.decode()
    for page in (shown, one):
        assert "kim@example.com" in page and "OSError" in page
        assert "secret-of-kim" not in page
    assert client.post(f"/admin/accounts/outgoingmail/{row().pk}/change/", {"to": "x@example.com"}).status_code == 403
