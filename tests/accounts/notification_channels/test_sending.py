"""From an event to the service that hears it: nothing is lost, doubled in silence, or sent to a wrong place."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event
from time import sleep
from typing import Any
from unittest.mock import patch

import pytest
import time_machine
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.constants import (
    CHANNEL_KINDS,
    CHANNEL_STOPPED_AFTER,
    NOTIFICATION_CLAIM,
    NOTIFICATION_REST,
    NOTIFICATION_TRIED,
    NOTIFICATION_WAITS,
    SENDS_PER_MINUTE,
)
from accounts.models import AccountEvent, NotificationChannel, NotificationDelivery, User, Webhook, WebhookEvent
from accounts.notification_channels import sending
from accounts.notification_channels.faults import FAULT_LABELS
from accounts.notification_channels.formats.parts import Credentials, Verdict
from accounts.notification_channels.outbox import notify
from accounts.notification_channels.selectors import count_notifications, notification_lag_s
from accounts.notification_channels.sending import send_notifications
from accounts.notification_channels.settings import add_channel, change_channel, remove_channel, send_again, send_test
from accounts.tasks import drop_old_webhook_events
from accounts.web.notification_channels.forms import KIND_LABELS
from accounts.webhooks.outbox import emit
from accounts.webhooks.settings import remove_webhook
from billing.models import Notice
from billing.standing.mail import queue_notices
from common import clock
from common.db.transactions import use_case
from common.errors import TooOften
from tests.accounts.notification_channels.vendors import FINE, GIVEN, SECRETS, TELEGRAM, Vendors
from tests.billing.money import in_parallel
from tests.mails import Killed, sent

pytestmark = pytest.mark.django_db(transaction=True)

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def add(user: User, service: str = "slack", **fields: Any) -> NotificationChannel:
    credentials = Credentials(**GIVEN[service])
    return add_channel(user=user, service=service, **{"name": f"my {service}", "credentials": credentials, **fields})


def happen(user: User, kind: str = "instance.started", **payload: object) -> None:
    with use_case():
        emit(user_id=user.pk, kind=kind, payload={"instance": f"inst_{'0' * 32}", "name": "train", **payload})


def send(vendors: Vendors, *, now: datetime | None = None) -> int:
    return send_notifications(now=now or clock.now(), transport=vendors.transport)


def row() -> NotificationDelivery:
    return NotificationDelivery.objects.get()


@pytest.fixture
def traveller() -> Iterator[Any]:
    with time_machine.travel(START, tick=False) as clockwork:
        yield clockwork


@pytest.mark.parametrize("service", sorted(GIVEN))
def test_from_the_event_to_the_service(alice: User, bob: User, vendors: Vendors, service: str) -> None:
    add(alice, service)
    vendors.answer = FINE[service]
    happen(alice, name="training")
    happen(bob)
    assert send(vendors) == 1
    heard = vendors.heard[0]
    assert b"training is running" in heard.body
    assert heard.headers["content-type"].startswith("application/json")
    assert heard.host in {"hooks.slack.com", "discord.com", "api.telegram.org", "open.feishu.cn"} | {
        "oapi.dingtalk.com",
        "qyapi.weixin.qq.com",
    }
    assert (row().status, row().attempts, row().fault, row().due_at) == (200, 1, "", None)
    assert row().delivered_at is not None
    assert send(vendors) == 0


def test_only_chosen_kinds_and_what_was_committed(alice: User, vendors: Vendors) -> None:
    add(alice, kinds=["instance.failed"])
    happen(alice, "instance.started")
    happen(alice, "instance.failed")
    with suppress(RuntimeError), use_case():
        emit(user_id=alice.pk, kind="instance.failed", payload={})
        raise RuntimeError
    send(vendors)
    assert [b"failed" in heard.body for heard in vendors.heard] == [True]
    assert WebhookEvent.objects.count() == 1


def test_the_reader_s_language_and_a_link(alice: User, vendors: Vendors) -> None:
    User.objects.filter(pk=alice.pk).update(language="zh-hans")
    add(alice)
    happen(
        alice, "instance.failed", name="训练", message={"code": "unknown_to_this_version", "params": {}}, detail="It broke."
    )
    send(vendors)
    text = vendors.heard[0].body.decode()
    assert "训练 失败" in text or "训练失败" in text or "训练 出错" in text
    assert f"/instances/inst_{'0' * 32}|" in text


def test_a_hostile_name_pings_nobody_and_links_nowhere(alice: User, vendors: Vendors) -> None:
    for service in GIVEN:
        add(alice, service)
    happen(
        alice,
        "instance.failed",
        name='<!channel> @everyone https://evil.example "}]} <at id=all>',
        detail="see evil.example/x",
    )
    send(vendors)
    for heard in vendors.heard:
        text = json.dumps(heard.json(), ensure_ascii=False)
        assert "evil.example" not in text and "<!channel" not in text and "@everyone" not in text and "<at" not in text


# -- workers that die, and more than one


def test_two_senders_at_once_send_each_once(alice: User, bob: User, vendors: Vendors) -> None:
    add(alice)
    add(bob)
    for _ in range(3):
        happen(alice)
        happen(bob)
    in_parallel([partial(send, vendors)] * 4)
    while send(vendors):
        pass
    assert len(vendors.heard) == 6


@pytest.mark.parametrize("heard_before", [False, True])
def test_a_worker_that_dies_loses_nothing_and_says_what_it_may_have_doubled(
    alice: User, vendors: Vendors, heard_before: bool
) -> None:
    add(alice)
    happen(alice)
    real: Callable[..., Any] = vendors.transport

    def die(*request: Any, **options: Any) -> Any:
        if heard_before:
            real(*request, **options)
        raise Killed

    with pytest.raises(Killed):
        send_notifications(now=clock.now(), transport=die)
    assert send(vendors) == 0, "the dead one's hand may still be on it"
    later = clock.now() + NOTIFICATION_CLAIM + SECOND
    assert [send(vendors, now=later) for _ in range(2)] == [1, 0]
    assert [b"may be a repeat" in heard.body for heard in vendors.heard] == [False] * heard_before + [True]


def test_a_worker_that_dies_before_it_stores_the_result_of_one_has_stored_the_others(
    alice: User, bob: User, vendors: Vendors
) -> None:
    add(alice)
    happen(alice)
    send(vendors)
    happen(alice)
    with (
        patch("accounts.notification_channels.sending.change_counters.notify_change", side_effect=Killed),
        pytest.raises(Killed),
    ):
        send(vendors)
    later = clock.now() + NOTIFICATION_CLAIM + SECOND
    assert send(vendors, now=later) == 1
    assert [b"may be a repeat" in heard.body for heard in vendors.heard] == [False, False, True]
    assert not NotificationDelivery.objects.filter(delivered_at=None).exists()


def test_a_late_result_does_not_overwrite_that_of_the_next_attempt(alice: User, vendors: Vendors) -> None:
    add(alice)
    happen(alice)
    first = sending._claim(clock.now())
    assert send(vendors, now=clock.now() + NOTIFICATION_CLAIM + SECOND) == 1
    sending._record(first[0], sending.Outcome(clock.now(), Verdict("status"), 500))
    assert (row().fault, row().attempts, row().delivered_at is not None) == ("", 2, True)


def test_nor_does_it_while_the_delivery_waits_for_another_attempt(alice: User, vendors: Vendors) -> None:
    add(alice)
    happen(alice)
    first = sending._claim(clock.now())
    vendors.answer = (503, "upstream")
    assert send(vendors, now=clock.now() + NOTIFICATION_CLAIM + SECOND) == 0
    due_at = row().due_at
    sending._record(first[0], sending.Outcome(clock.now(), Verdict("status"), 500))
    assert (row().status, row().attempts, row().due_at, len(row().tries)) == (503, 2, due_at, 1)


def test_an_event_is_delivered_to_a_channel_once(alice: User, vendors: Vendors) -> None:
    add(alice)
    happen(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        NotificationDelivery.objects.create(channel=row().channel, event=row().event)


# -- services that fail


def test_tried_for_a_day_and_then_given_up(alice: User, vendors: Vendors, traveller: Any) -> None:
    channel = add(alice)
    vendors.answer = (503, "upstream")
    happen(alice)
    tries = []
    while (due := row().due_at) is not None:
        traveller.move_to(due)
        tries.append(due - START)
        send(vendors, now=clock.now() - SECOND)  # not due yet
        send(vendors)
    assert tries[:3] == [timedelta(0), NOTIFICATION_WAITS[0], NOTIFICATION_WAITS[0] + NOTIFICATION_WAITS[1]]
    assert NOTIFICATION_TRIED - timedelta(hours=4) < tries[-1] <= NOTIFICATION_TRIED
    assert len(vendors.heard) == len(tries) == len(row().tries)
    assert (row().fault, row().status, row().answer) == ("status", 503, "upstream")
    assert row().gave_up_at is not None
    assert count_notifications() == {"waiting": 0, "given_up": 1}
    vendors.answer = (200, "ok")
    send_again(user=alice, channel_id=channel.pk, delivery_id=row().pk)
    assert send(vendors) == 1
    channel.refresh_from_db()
    assert channel.failing_since is None


def test_a_service_that_asks_to_wait_is_left_alone_for_that_long(alice: User, vendors: Vendors, traveller: Any) -> None:
    add(alice)
    for _ in range(2):
        happen(alice)
    vendors.answers, vendors.headers = [(429, "rate_limited")], {"Retry-After": "90"}
    assert send(vendors) == 0
    assert len(vendors.heard) == 1, "the second waits too"
    traveller.shift(timedelta(seconds=89))
    assert (send(vendors), notification_lag_s()) == (0, 0)
    traveller.shift(SECOND)
    assert send(vendors) == 2
    assert NotificationChannel.objects.get().failing_since is None


def test_rate_limits_by_code_and_their_longest_rest(alice: User, vendors: Vendors, traveller: Any) -> None:
    add(alice, "telegram")
    happen(alice)
    vendors.answers = [(429, '{"ok":false,"error_code":429,"parameters":{"retry_after":999999}}')]
    send(vendors)
    assert row().due_at == clock.now() + timedelta(hours=1)
    NotificationChannel.objects.all().delete()
    add(alice, "feishu")
    happen(alice)
    vendors.answers = [(200, '{"code":11232,"msg":"frequency limited"}')]
    send(vendors)
    assert (row().fault, row().due_at) == ("rate_limited", clock.now() + NOTIFICATION_REST)


def test_a_message_that_the_service_cannot_read_ends_alone(alice: User, vendors: Vendors) -> None:
    add(alice)
    for _ in range(2):
        happen(alice)
    vendors.answers = [(400, "invalid_payload")]
    assert send(vendors) == 1
    assert sorted(NotificationDelivery.objects.values_list("fault", flat=True)) == ["", "rejected"]
    assert NotificationChannel.objects.get().failing_since is None


def test_a_channel_that_is_gone_is_turned_off_with_a_mail_and_loses_nothing(
    alice: User, vendors: Vendors, traveller: Any
) -> None:
    channel = add(alice, "dingtalk")
    vendors.answer = (200, '{"errcode":310000,"errmsg":"sign not match"}')
    happen(alice)
    for _ in range(5):
        send(vendors)
        traveller.shift(timedelta(minutes=5))
    channel.refresh_from_db()
    assert (channel.stopped_for, len(vendors.heard)) == ("signature", 3)
    assert channel.paused_at is not None
    assert [message.subject for message in sent("turned off")] == ["Notification channel my dingtalk was turned off"]
    assert "signature" in sent("turned off")[0].body
    assert AccountEvent.objects.filter(kind="channel.stopped").count() == 1
    happen(alice)
    assert NotificationDelivery.objects.count() == 1, "none is written while it is off"
    vendors.answer = FINE["dingtalk"]
    change_channel(user=alice, channel_id=channel.pk, credentials=Credentials(secret="SEC" + "a" * 30))
    resumed = NotificationChannel.objects.filter(paused_at=None).values_list("stopped_for", "refusals")
    assert list(resumed) == [("", 0)]
    assert send(vendors) == 1


def test_what_waited_for_a_day_in_a_paused_channel_is_no_news(alice: User, vendors: Vendors, traveller: Any) -> None:
    channel = add(alice)
    happen(alice)
    change_channel(user=alice, channel_id=channel.pk, paused=True)
    traveller.shift(NOTIFICATION_TRIED)
    change_channel(user=alice, channel_id=channel.pk, paused=False)
    assert (send(vendors), row().fault, vendors.heard) == (0, "expired", [])


def test_days_of_nothing_but_failures_turn_a_channel_off(alice: User, vendors: Vendors) -> None:
    add(alice)
    NotificationChannel.objects.update(failing_since=clock.now() - CHANNEL_STOPPED_AFTER)
    vendors.answer = (500, "")
    happen(alice)
    send(vendors)
    assert NotificationChannel.objects.get().stopped_for == "status"


def test_a_slow_service_delays_no_other_and_has_ten_seconds(alice: User, bob: User, vendors: Vendors) -> None:
    add(alice)
    add(bob)
    happen(alice)
    happen(bob)
    vendors.gate.clear()
    with patch("accounts.notification_channels.sending.NOTIFICATION_TIMEOUT_S", 0.3):
        assert send(vendors) == 0
    assert {one.fault for one in NotificationDelivery.objects.all()} == {"timeout"}
    vendors.gate.set()
    assert send(vendors, now=clock.now() + timedelta(minutes=1)) == 2
    assert all(b"may be a repeat" in heard.body for heard in vendors.heard[2:])


def test_redirects_and_inner_addresses(alice: User, vendors: Vendors, settings: Any) -> None:
    add_channel(user=alice, service="json", name="own", credentials=Credentials(url=f"{vendors.address}/hook"))
    vendors.answer, vendors.headers = (302, ""), {"Location": "http://169.254.169.254/"}
    happen(alice)
    send_notifications(now=clock.now())
    assert (row().fault, len(vendors.heard)) == ("redirect", 1)
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    send_notifications(now=clock.now() + timedelta(minutes=1))
    assert (row().fault, len(vendors.heard)) == ("not_public", 1)


# -- secrets


def test_no_secret_reaches_logs_rows_or_the_account_s_log(
    alice: User, vendors: Vendors, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for service in GIVEN:
        add(alice, service)
    happen(alice)
    vendors.answer = (500, f"no such bot {TELEGRAM} {' '.join(SECRETS)}" + " x" * 3_000)
    send(vendors)
    rows = [NotificationDelivery, NotificationChannel, AccountEvent, WebhookEvent]
    kept = " ".join(str(values) for model in rows for values in model._default_manager.values())
    assert "no such bot …" in kept
    # What belongs to another channel of the same answer is not known there, and may remain.
    for channel in NotificationDelivery.objects.select_related("channel"):
        own = [value for value in GIVEN[channel.channel.service].values() if value in channel.answer]
        assert own == []
    assert not [secret for secret in SECRETS if secret in caplog.text]


def test_credentials_of_another_key_turn_the_channel_off_in_the_end(alice: User, vendors: Vendors) -> None:
    add(alice)
    NotificationChannel.objects.update(sealed="broken")
    happen(alice)
    send(vendors)
    assert (row().fault, vendors.heard) == ("secret_lost", [])


# -- notices and the rest


def test_notices_that_webhooks_do_not_carry(alice: User, vendors: Vendors) -> None:
    add(alice, kinds=["billing.balance_low"])
    now = clock.now()
    for kind in (Notice.Kind.LOW, Notice.Kind.EXHAUSTED):
        facts = {"left_micros": 1_500_000}
        Notice.objects.create(person=alice, kind=kind, key=kind, ends_at=now, facts=facts)
    assert queue_notices(now=now) == 2
    assert send(vendors) == 1
    text = vendors.heard[0].body.decode()
    assert "Your balance is low" in text and "$1.50 left" in text and "/wallet|Open in Berth" in text


def test_a_page_of_somebody_else_is_no_link(alice: User, vendors: Vendors) -> None:
    add(alice)
    with use_case():
        notify(user_id=alice.pk, kind="billing.budget", subject="Budget", body="One.\n\nhttps://evil.example/")
    assert send(vendors) == 1
    assert [block for block in vendors.heard[0].json()["blocks"] if "<https://evil" in str(block)] == []


def test_a_test_goes_to_one_channel_whatever_it_receives(alice: User, vendors: Vendors) -> None:
    channel = add(alice, kinds=["instance.failed"])
    add(alice, "discord")
    send_test(user=alice, channel_id=channel.pk)
    assert send(vendors) == 1
    assert b"This channel works" in vendors.heard[0].body


@pytest.mark.parametrize("kind", ["channel", "webhook"])
def test_what_is_removed_while_an_event_is_queued_does_not_end_what_happened(alice: User, kind: str) -> None:
    """Else an owner of channels could make stops and charges of an own instance fail at their commit."""
    queued = Event()

    def queue() -> None:
        with use_case():
            emit(user_id=alice.pk, kind="instance.started", payload={"name": "train"})
            queued.set()
            sleep(0.5)

    def remove() -> None:
        queued.wait(10)
        if kind == "channel":
            remove_channel(user=alice, channel_id=receiver.pk)
        else:
            remove_webhook(user=alice, webhook_id=receiver.pk)

    receiver = add(alice) if kind == "channel" else Webhook.objects.create(user=alice, url="https://example.com/", kinds=[])
    assert in_parallel([queue, remove]) == [None, None]
    assert WebhookEvent.objects.filter(kind="instance.started").exists()
    assert not type(receiver)._default_manager.filter(pk=receiver.pk).exists()


def test_tests_and_repetitions_are_no_cannon(alice: User, vendors: Vendors, traveller: Any) -> None:
    """The address of a channel may be somebody else's."""
    channel, other = add(alice), add(alice, "discord")
    tests = [send_test(user=alice, channel_id=channel.pk) for _ in range(SENDS_PER_MINUTE)]
    with pytest.raises(TooOften):
        send_test(user=alice, channel_id=channel.pk)
    with pytest.raises(TooOften):
        send_again(user=alice, channel_id=channel.pk, delivery_id=tests[0].pk)
    send_test(user=alice, channel_id=other.pk)
    traveller.shift(timedelta(minutes=2))
    send_again(user=alice, channel_id=channel.pk, delivery_id=tests[0].pk)
    with pytest.raises(TooOften):
        send_again(user=alice, channel_id=channel.pk, delivery_id=tests[0].pk)
    for test in tests[1:]:
        send_again(user=alice, channel_id=channel.pk, delivery_id=test.pk)
    traveller.shift(timedelta(seconds=11))
    with pytest.raises(TooOften):
        send_again(user=alice, channel_id=channel.pk, delivery_id=tests[0].pk)


def test_old_ones_go(alice: User, vendors: Vendors, traveller: Any) -> None:
    add(alice)
    happen(alice)
    traveller.shift(timedelta(days=31))
    drop_old_webhook_events()
    assert not NotificationDelivery.objects.exists()


def test_every_kind_has_words_whatever_its_payload_has(alice: User, vendors: Vendors) -> None:
    add(alice)
    odd = {"days": 3, "stops_at": "2026-11-30T16:54:00Z", "delete_at": "never", "failure": {"detail": "x"}, "lines": ["one"]}
    kinds = [*CHANNEL_KINDS, "of.a.later.version"]
    for kind in kinds:
        happen(alice, kind)
        happen(alice, kind, **odd)
    while send(vendors):
        pass
    assert not NotificationDelivery.objects.filter(delivered_at=None).exists()
    unworded = {kind for kind in kinds for heard in vendors.heard if f'"{kind}"' in heard.body.decode()}
    assert (len(vendors.heard), unworded) == (2 * len(kinds), {"of.a.later.version"})
    assert set(KIND_LABELS) == {*CHANNEL_KINDS, "notification.test"}
    assert {"status", "timeout", "rate_limited", "expired", "not_public"} <= set(FAULT_LABELS)


def test_a_hint_lost_with_the_broker_costs_time_only(alice: User, client: Client, vendors: Vendors) -> None:
    add(alice)
    with patch("common.jobs.current_app.send_task", side_effect=AssertionError) as hints, suppress(AssertionError):
        happen(alice)
    assert hints.called
    assert send(vendors) == 1
