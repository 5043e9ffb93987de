"""The public page of a host's reliability, and the owner's page of its maintenance."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounts.models import User
from common import clock
from common.ids import public_id
from marketplace.hosts.maintenance import announce_maintenance
from marketplace.models import Host, Maintenance, ReliabilityEvent
from marketplace.reliability.events import record_failed_start, refresh_reliability
from marketplace.web.reliability.context import reliability_context
from tests.billing.money import START, at


def address(name: str, host: Host) -> str:
    return reverse(name, args=[public_id("host", host.pk)])


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def announced(host: Host, days: int = 3) -> Maintenance:
    begin = clock.now() + timedelta(days=days)
    return announce_maintenance(
        actor_id=host.owner_id,
        host_id=host.pk,
        category="disk",
        starts_at=begin,
        ends_at=begin + timedelta(hours=2),
        detail="A <b>new</b> NVMe",
    )


# -- the public page


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_everyone_sees_the_number_its_parts_and_the_events(host: Host, language: str) -> None:
    with time_machine.travel(START, tick=False) as now:
        record_failed_start(host_id=host.pk, subject=uuid4(), at=at(days=8), detail="ssh_silent")
        ReliabilityEvent.objects.create(host=host, kind="outage", starts_at=at(days=9), ends_at=at(days=9, hours=3))
        ReliabilityEvent.objects.create(
            host=host, kind="outage", starts_at=at(days=9), ends_at=at(days=9), detail="mass_silence"
        )
        announced(host)
        now.shift(timedelta(days=10))
        Host.objects.update(enrolled_at=START)
        refresh_reliability(now=clock.now())
        page = Client(headers={"accept-language": language}).get(address("reliability", host)).content.decode()
    assert f"{(Host.objects.get().reliability_ppm or 0) / 10_000:.2f}%" in page
    assert (page.count("day day-none"), page.count('class="day day-good')) == (21, 7)
    assert "A &lt;b&gt;new&lt;/b&gt; NVMe" in page
    assert reverse("api_host_reliability", args=[public_id("host", host.pk)]) in page
    if language == "en":
        for words in (
            "SSH in the instance",
            "No reports for 3 h",
            "Not responding, together",
            "3 h without reports",
            "10 : 1",
        ):
            assert words in page, words


def test_a_new_host_says_that_it_is_too_new(host: Host) -> None:
    page = Client().get(address("reliability", host)).content.decode()
    assert "Not enough data: shown after 24 hours of observation" in page
    assert "No outages" in page


def test_each_day_shows_the_worst_that_happened(host: Host) -> None:
    with time_machine.travel(at(days=3), tick=False):
        announced(host, days=2)
    Host.objects.filter(pk=host.pk).update(enrolled_at=at(days=-100))
    record_failed_start(host_id=host.pk, subject=uuid4(), at=at(days=9, hours=3), detail="x")
    record_failed_start(host_id=host.pk, subject=uuid4(), at=at(days=5, hours=1), detail="x")
    ReliabilityEvent.objects.create(host=host, kind="outage", starts_at=at(days=7), ends_at=at(days=7, hours=30))
    days = reliability_context(host.pk, at(days=10), None)["days"]
    assert [day.kind for day in days[-6:]] == ["good", "excused", "good", "outage", "outage", "failure"]
    assert sum((day.outage for day in days), timedelta(0)) == timedelta(hours=30)
    assert (len(days), days[-1].end, sum(day.failures for day in days)) == (
        30,
        at(days=10).replace(second=0, microsecond=0),
        1,
    )


def test_only_the_owner_is_offered_maintenance(host: Host, mallory: User) -> None:
    link = address("host_maintenance", host)
    assert link in signed_in(host.owner).get(address("reliability", host)).content.decode()
    assert link not in signed_in(mallory).get(address("reliability", host)).content.decode()


# -- the owner's page


def form(**changes: str) -> dict[str, str]:
    begin = clock.now() + timedelta(days=3)
    return {"category": "power", "starts_at": f"{begin:%Y-%m-%dT%H:%M}", "hours": "3", "detail": "UPS", **changes}


def test_it_is_announced_in_the_owners_own_time(host: Host) -> None:
    page = signed_in(host.owner).post(address("host_maintenance", host), form(zone_offset="-480"), follow=True)
    assert "Maintenance announced. Renters on this host are notified." in page.content.decode()
    made, begin = Maintenance.objects.get(), clock.now() + timedelta(days=3, hours=-8)
    assert (made.starts_at, made.ends_at - made.starts_at) == (
        begin.replace(second=0, microsecond=0),
        timedelta(hours=3),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"starts_at": "2020-01-01T00:00"}, "Announce maintenance at least 24 hours ahead"),
        ({"starts_at": "9999-12-31T10:59"}, "at most 90 days ahead"),
        ({"starts_at": "9999-12-31T23:59", "zone_offset": "840"}, "a date in the near future"),
        ({"starts_at": "0001-01-01T00:00", "zone_offset": "-840"}, "a date in the near future"),
        ({"starts_at": ""}, "required"),
        ({"hours": "13"}, "13"),
        ({"category": "party"}, "party"),
        ({"zone_offset": "9999"}, "zone_offset"),
    ],
)
def test_what_is_refused_is_said_at_its_field(host: Host, changes: dict[str, str], words: str) -> None:
    page = signed_in(host.owner).post(address("host_maintenance", host), form(**changes))
    assert page.status_code == 200
    assert words in page.content.decode()
    assert not Maintenance.objects.exists()


def test_it_is_listed_and_called_off(host: Host) -> None:
    window, client = announced(host), signed_in(host.owner)
    cancel = reverse("maintenance_cancel", args=[public_id("host", host.pk), public_id("mtn", window.pk)])
    assert cancel in client.get(address("host_maintenance", host)).content.decode()
    assert "A &lt;b&gt;new&lt;/b&gt; NVMe" in client.get(reverse("my_hosts")).content.decode()
    page = client.post(cancel, follow=True).content.decode()
    assert "cancelled" in page
    assert cancel not in page
    assert "NVMe" not in client.get(reverse("my_hosts")).content.decode()


def test_strangers_find_nothing(host: Host, mallory: User) -> None:
    window = announced(host)
    cancel = reverse("maintenance_cancel", args=[public_id("host", host.pk), public_id("mtn", window.pk)])
    for client, status in ((signed_in(mallory), 404), (Client(), 302)):
        assert client.get(address("host_maintenance", host)).status_code == status
        assert client.post(address("host_maintenance", host), form()).status_code == status
        assert client.post(cancel).status_code == status
    assert Maintenance.objects.get().cancelled_at is None
    assert Client().get(reverse("reliability", args=["host_" + "0" * 32])).status_code == 404
