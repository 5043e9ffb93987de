"""The breaker (D6): one host that falls silent is its own fault, many at once are ours."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from common import clock
from marketplace.constants import BREAKER_DAY, BREAKER_HOSTS, BREAKER_LASTS, BREAKER_WINDOW, HOST_SILENT_AFTER
from marketplace.hosts.heartbeat import mark_silent_hosts
from marketplace.hosts.hosts import record_report
from marketplace.models import Host, Incident, Offer, ReliabilityEvent
from marketplace.reliability.silence_selectors import OwnerHosts, circuit_breaker_open, silence_of
from tests.marketplace.shapes import enrolled

Fleet = Callable[[int], list[Host]]


def _known_since_long(hosts: list[Host]) -> list[Host]:
    Host.objects.filter(pk__in=[host.pk for host in hosts]).update(enrolled_at=clock.now() - timedelta(days=30))
    return hosts


@pytest.fixture
def owner(db: None) -> Callable[[int], User]:
    return lambda number: User.objects.create(email=f"owner-{number}@example.com", is_host_owner=True)


@pytest.fixture
def fleet(owner: Callable[[int], User]) -> Fleet:
    """Each of another owner."""
    return lambda size: _known_since_long([enrolled(owner(n), 1, name=f"rig-{n}") for n in range(size)])


def _last_seen(hosts: list[Host], at: datetime) -> None:
    Host.objects.filter(pk__in=[host.pk for host in hosts]).update(last_seen_at=at)


def _states() -> dict[str, int]:
    states = list(Host.objects.values_list("state", flat=True))
    return {state: states.count(state) for state in set(states)}


@pytest.mark.parametrize(
    ("size", "late", "marked"),
    [(1, 1, 1), (2, 2, 2), (3, 2, 2), (3, 3, 0), (10, 3, 3), (10, 4, 0), (10, 10, 0), (20, 6, 6), (20, 7, 0)],
)
def test_few_are_marked_many_are_not(fleet: Fleet, size: int, late: int, marked: int) -> None:
    now = clock.now()
    hosts = fleet(size)
    _last_seen(hosts, now)
    _last_seen(hosts[:late], now - HOST_SILENT_AFTER - timedelta(seconds=1))
    assert circuit_breaker_open(now) is (marked == 0)
    assert mark_silent_hosts(now=now) == marked
    assert _states().get("silent", 0) == marked
    assert Incident.objects.filter(kind="mass_silence", closed_at=None).count() == (marked == 0)
    assert Offer.objects.filter(gpu_free=0).count() == marked


def _late(now: datetime) -> datetime:
    return now - HOST_SILENT_AFTER - timedelta(seconds=1)


def test_one_owner_cannot_open_it_with_any_number_of_hosts(fleet: Fleet, hana: User) -> None:
    """Hosts switched off together while others report are their owner's: nothing is forgiven, and nobody waits."""
    now = clock.now()
    others = fleet(3)
    mine = _known_since_long([enrolled(hana, 1, name=f"mine-{n}") for n in range(8)])
    _last_seen(others, now)
    _last_seen(mine, _late(now))
    assert not circuit_breaker_open(now)
    assert mark_silent_hosts(now=now) == 8
    assert ReliabilityEvent.objects.filter(kind="outage", ends_at=None).count() == 8
    assert not Incident.objects.exists()


def test_names_without_verified_hosts_do_not_weigh_beside_those_with_some(fleet: Fleet) -> None:
    now = clock.now()
    hosts = fleet(12)
    Host.objects.filter(pk__in=[host.pk for host in hosts[:3]]).update(verification="verified")
    _last_seen(hosts[:3], now)
    _last_seen(hosts[3:], _late(now))
    assert not circuit_breaker_open(now)
    _last_seen(hosts[:3], _late(now))
    assert circuit_breaker_open(now)


@pytest.mark.parametrize("kind", ["simulated", "never reported", "revoked"])
def test_hosts_that_say_nothing_about_the_market_do_not_count(fleet: Fleet, kind: str) -> None:
    now = clock.now()
    hosts = fleet(10)
    odd = Host.objects.filter(pk__in=[host.pk for host in hosts[:8]])
    _last_seen(hosts[8:], now)
    _last_seen(hosts[:8], _late(now))
    assert circuit_breaker_open(now)
    match kind:
        case "simulated":
            odd.update(simulated=True)
            Host.objects.filter(pk__in=[host.pk for host in hosts[8:]]).update(simulated=False)
        case "never reported":
            odd.update(enrolled_at=_late(now))
        case _:
            odd.update(state="silent", agent_revoked_at=now)
    assert not circuit_breaker_open(now)


def test_a_single_owners_market_is_protected_when_everything_is_gone(hana: User) -> None:
    now = clock.now()
    hosts = _known_since_long([enrolled(hana, 1, name=f"mine-{n}") for n in range(4)])
    _last_seen(hosts, _late(now))
    assert circuit_breaker_open(now)
    _last_seen(hosts[:1], now)
    assert not circuit_breaker_open(now)


rows_of_owners = st.lists(
    st.tuples(st.integers(0, 9), st.booleans(), st.booleans(), st.integers(1, 60), st.integers(0, 60)),
    min_size=1,
    max_size=30,
).map(
    lambda rows: [
        OwnerHosts(UUID(int=owner), verified, simulated, watched, min(lost, watched))
        for owner, verified, simulated, watched, lost in rows
    ]
)


@given(rows_of_owners, st.integers(0, 9))
def test_what_one_owner_switches_off_opens_nothing_while_another_reports(rows: list[OwnerHosts], number: int) -> None:
    """However many hosts they have, of whatever kind, nobody's fault but theirs changes who is forgiven."""
    attacker = UUID(int=number)
    others_report = [replace(row, lost=row.watched if row.owner_id == attacker else 0) for row in rows]
    counted = [row for row in others_report if row.owner_id != attacker]
    if any(row.verified and not row.simulated for row in counted) or (all(row.simulated for row in rows) and counted):
        assert not silence_of(others_report).is_mass


@given(rows_of_owners)
def test_more_silent_hosts_never_close_it_and_more_owned_ones_never_count_twice(rows: list[OwnerHosts]) -> None:
    silence = silence_of(rows)
    assert 0 <= silence.owners_lost <= silence.owners <= len({row.owner_id for row in rows})
    gone = silence_of([replace(row, lost=row.watched) for row in rows])
    assert gone.owners_lost == gone.owners
    assert gone.is_mass or not silence.is_mass
    assert gone.is_mass == (gone.lost >= BREAKER_HOSTS)


def test_sixty_seconds_are_not_yet_silence(fleet: Fleet) -> None:
    now = clock.now()
    _last_seen(fleet(1), now - HOST_SILENT_AFTER)
    assert mark_silent_hosts(now=now) == 0
    assert mark_silent_hosts(now=now + timedelta(microseconds=1)) == 1


def test_fault_027_a_dead_network_trips_the_breaker_although_hosts_fall_silent_one_by_one(fleet: Fleet) -> None:
    """Agents report at different seconds: each sweep sees only a few more that are late."""
    start = clock.now()
    hosts = fleet(20)
    for n, host in enumerate(hosts):
        _last_seen([host], start + timedelta(seconds=n))
    for second in range(0, 1200, 2):
        mark_silent_hosts(now=start + timedelta(seconds=second))
    assert _states()["silent"] <= 6
    assert circuit_breaker_open(start + timedelta(seconds=1200))
    assert Incident.objects.filter(kind="mass_silence", closed_at=None).count() == 1
    back = start + timedelta(seconds=1201)
    for host in hosts:
        record_report(host_id=host.pk, at=back, engine_age_s=0, agent_version="1")
    assert mark_silent_hosts(now=back) == 0
    assert _states() == {"online": 20}
    assert not Incident.objects.filter(closed_at=None).exists()
    assert not Offer.objects.filter(gpu_free=0).exists()


def test_hosts_that_have_been_silent_for_long_do_not_count(fleet: Fleet) -> None:
    now = clock.now()
    hosts = fleet(10)
    _last_seen(hosts[:2], now - HOST_SILENT_AFTER - timedelta(seconds=1))
    assert mark_silent_hosts(now=now) == 2
    later = now + BREAKER_WINDOW + HOST_SILENT_AFTER
    _last_seen(hosts[2:8], later)
    _last_seen(hosts[8:], later - HOST_SILENT_AFTER - timedelta(seconds=1))
    assert mark_silent_hosts(now=later) == 2


def keep_reporting(hosts: list[Host], start: datetime, minutes: int, *, every: int = 10) -> datetime:
    """These report and the sweep runs, every ten seconds; the others are silent. When it is then."""
    for second in range(0, minutes * 60 + 1, every):
        _last_seen(hosts, start + timedelta(seconds=second))
        with time_machine.travel(start + timedelta(seconds=second), tick=False):
            mark_silent_hosts(now=clock.now())
    return start + timedelta(minutes=minutes)


def outages() -> list[tuple[datetime | None, bool]]:
    return [(row.ends_at, row.detail == "mass_silence") for row in ReliabilityEvent.objects.order_by("id")]


def test_three_of_nine_switched_off_together_are_gone_after_its_time(fleet: Fleet) -> None:
    """They neither keep it open for ever nor have their outages forgiven for ever."""
    start = clock.now()
    hosts = fleet(9)
    _last_seen(hosts, start)
    minutes = round(BREAKER_LASTS.total_seconds() / 60)
    now = keep_reporting(hosts[3:], start, minutes)
    assert circuit_breaker_open(now)
    assert _states() == {"online": 9}
    now = keep_reporting(hosts[3:], now, 3)
    assert not circuit_breaker_open(now)
    assert _states() == {"online": 6, "silent": 3}
    incident = Incident.objects.get(kind="mass_silence")
    assert incident.closed_by == "time limit"
    assert incident.closed_at is not None
    assert BREAKER_LASTS <= incident.closed_at - incident.opened_at <= BREAKER_LASTS + timedelta(seconds=10)
    assert outages() == [(None, False)] * 3
    assert set(ReliabilityEvent.objects.values_list("starts_at", flat=True)) == {incident.closed_at}
    now = keep_reporting(hosts[3:], now, 60)
    assert Incident.objects.filter(kind="mass_silence").count() == 1, "it does not open again for the same hosts"
    assert Offer.objects.filter(gpu_free=0).count() == 3


def test_hosts_that_come_and_go_do_not_have_more_forgiven_in_a_day(fleet: Fleet) -> None:
    """Three of nine are switched off for ten minutes of every fifteen."""
    now = clock.now()
    hosts = fleet(9)
    for _ in range(8):
        now = keep_reporting(hosts, now, 5)
        now = keep_reporting(hosts[3:], now, 10)
    incidents = Incident.objects.filter(kind="mass_silence", closed_at__isnull=False)
    open_for = sum(((each.closed_at or now) - each.opened_at for each in incidents), timedelta(0))
    assert BREAKER_LASTS <= open_for <= BREAKER_LASTS + timedelta(minutes=1)
    assert "time limit" in set(incidents.values_list("closed_by", flat=True))
    assert any(not forgiven for _end, forgiven in outages())


def test_it_may_open_again_a_day_later(fleet: Fleet) -> None:
    start = clock.now()
    hosts = fleet(9)
    now = keep_reporting(hosts[3:], start, round(BREAKER_LASTS.total_seconds() / 60) + 3)
    now = keep_reporting(hosts, now + BREAKER_DAY, 1)
    now = keep_reporting(hosts[3:], now, 3)
    assert circuit_breaker_open(now)


def test_staff_end_it_and_the_record_names_them(fleet: Fleet, stella: User) -> None:
    start = clock.now()
    hosts = fleet(9)
    now = keep_reporting(hosts[3:], start, 3)
    assert circuit_breaker_open(now)
    incident = Incident.objects.get(kind="mass_silence")
    panel = Client()
    panel.force_login(stella)
    form = {"action": "close", "_selected_action": [incident.pk]}
    with time_machine.travel(now, tick=False):
        reply = panel.post(reverse("admin:marketplace_incident_changelist"), form)
    assert reply.status_code == 302
    incident.refresh_from_db()
    assert (incident.closed_at, incident.closed_by) == (now, stella.email)
    assert not circuit_breaker_open(now)
    now = keep_reporting(hosts[3:], now, 3)
    assert _states() == {"online": 6, "silent": 3}
    assert Incident.objects.filter(kind="mass_silence").count() == 1


def test_frozen_and_retired_hosts_are_not_marked(fleet: Fleet) -> None:
    now = clock.now()
    hosts = fleet(2)
    _last_seen(hosts, now - timedelta(days=1))
    Host.objects.filter(pk=hosts[0].pk).update(state="frozen")
    Host.objects.filter(pk=hosts[1].pk).update(state="retired")
    assert mark_silent_hosts(now=now) == 0
    assert not circuit_breaker_open(now)
