"""Pages of what an instance does by itself, of its place in line, and of how long its data is kept."""

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from common.ids import public_id
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.schedules.settings import IdleRule, SettingsChange, change_settings
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import sell

HTMX = {"HX-Request": "true"}
FORM = {"time_zone": "Asia/Shanghai", "below_pct": "5", "minutes": "30"}


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    client.force_login(rin)
    return client


def path(instance: Instance, tail: str = "") -> str:
    return f"/instances/{public_id('inst', instance.pk)}{tail}"


def text(client: Client, where: str, **headers: str) -> str:
    response = client.get(where, headers=headers or None)
    assert response.status_code == 200, where
    return " ".join(response.content.decode().split())


def stopped(renter: User, host: FakeHost) -> Instance:
    instance = order_running(renter, host)
    stop_instance(renter=renter, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def test_the_form_reads_and_writes_in_the_readers_zone(page: Client, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    shown = text(page, path(instance, "/schedule?zone=Asia/Shanghai"), **HTMX)
    assert 'value="Asia/Shanghai"' in shown
    assert "<html" not in shown
    week = {"week-0-action": "stop", "week-0-time": "20:00", "week-0-days": ["0", "4"], "week-1-action": ""}
    sent = {**FORM, **week, "stop_at": "2025-03-02T10:00", "idle": "on", "locked": "on"}
    reply = page.post(path(instance, "/schedule"), sent, headers=HTMX)
    assert (reply.status_code, reply["HX-Redirect"]) == (204, path(instance))
    row = reload(instance)
    assert (row.locked, row.idle_minutes, row.weekly) == (
        True,
        30,
        [{"action": "stop", "days": [0, 4], "time": "20:00"}],
    )
    assert row.timed_stop_at is not None
    assert row.timed_stop_at.isoformat() == "2025-03-02T02:00:00+00:00"
    seen = text(page, path(instance))
    for words in ("Idle stop", "release protection is on", "Mon Fri", "Next stop", "Stops in"):
        assert words in seen, words
    assert 'data-ask-yes="Release"' not in seen
    again_shown = text(page, path(instance, "/schedule?zone=Europe/Berlin"), **HTMX)
    assert "2025-03-02T10:00" in again_shown, "in the zone that it was set in"
    assert page.post(path(instance, "/schedule"), {**FORM, "week-0-action": ""}).status_code == 302
    row = reload(instance)
    assert (row.locked, row.idle_minutes, row.weekly, row.timed_stop_at) == (False, None, [], None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time_zone": "Mars/Olympus"}, "Enter a time zone"),
        ({"stop_at": "soon"}, "Enter a date and time."),
        ({"stop_at": "2024-03-02T10:00"}, "Choose a future time"),
        ({"week-0-action": "stop", "week-0-time": "20:00"}, "Choose at least one day"),
        ({"idle": "on", "minutes": "5"}, "Check the highlighted fields"),
        ({"idle": "on", "minutes": ""}, "Enter the usage threshold"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_changes(
    page: Client, rin: User, host: FakeHost, changes: dict[str, str], words: str
) -> None:
    instance = order_running(rin, host)
    reply = page.post(path(instance, "/schedule"), {**FORM, "locked": "on", **changes}, headers=HTMX)
    assert reply.status_code == 200
    assert words in reply.content.decode()
    assert reload(instance).locked is False


def test_what_is_wrong_is_said_in_the_readers_language(page: Client, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    headers = {**HTMX, "Accept-Language": "zh-hans"}
    reply = page.post(path(instance, "/schedule"), {**FORM, "stop_at": "2024-03-02T10:00"}, headers=headers)
    assert "请选择一年内的将来时间。" in reply.content.decode()


def test_the_line_is_offered_taken_and_left_on_the_page(page: Client, rin: User, bob: User, host: FakeHost) -> None:
    grant(bob, 1_000 * UNIT)
    instance = stopped(rin, host)
    assert "Join queue" not in text(page, path(instance))
    order_running(bob, host, gpu_count=4)
    assert "Join queue" in text(page, path(instance))
    assert page.post(path(instance, "/start"), {"wait": "1"}, headers=HTMX).status_code == 204
    seen = text(page, path(instance))
    assert "Queued for GPUs: 1 of 1" in seen
    assert "Leave queue" in seen
    assert "queued: 1 of 1" in text(page, "/instances")
    page.post(path(instance, "/stop"), headers=HTMX)
    assert reload(instance).state == "stopped"


def test_data_is_kept_for_the_fee_that_was_shown(page: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    sell(host)
    instance = stopped(rin, host)
    assert "Extend data retention" in text(page, path(instance))
    shown = text(page, path(instance, "/keep"), **HTMX)
    assert "7 more days" in shown
    assert "$0.672" in shown
    cheap = page.post(path(instance, "/keep"), {"days": "7", "max_fee": "0.67"}, headers=HTMX)
    assert "The price changed" in cheap.content.decode()
    reply = page.post(path(instance, "/keep"), {"days": "7", "max_fee": "0.672"}, headers=HTMX)
    assert (reply.status_code, reload(instance).paid_from) == (204, instance.release_at)
    assert "extended" in text(page, "/instances")
    hours.advance(days=32)
    page.force_login(rin)
    assert "Extend" in text(page, "/console/banners")
    start_instance(renter=rin, instance_id=instance.pk)
    assert "has an expiry date to extend" in text(page, path(instance, "/keep"))


def test_the_pages_of_others_are_not_there(client: Client, mallory: User, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    client.force_login(mallory)
    for tail in ("/schedule", "/keep"):
        assert client.get(path(instance, tail)).status_code == 404
        assert client.post(path(instance, tail), {**FORM, "days": "7", "max_fee": "9"}).status_code == 404


def test_the_idle_stop_counts_down_on_the_page(page: Client, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    change_settings(renter=rin, instance_id=instance.pk, wanted=SettingsChange({"idle": IdleRule(5, 30)}))
    ends = (clock.now() + timedelta(minutes=30)).isoformat()[:19]
    assert ends in text(page, path(instance))
