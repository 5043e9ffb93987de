"""Metering that is killed at any statement, late by a day, or done twice at once charges what it would have charged."""

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg2
import pytest
import time_machine
from celery import current_app
from celery.signals import worker_init
from django.db import Error, connection

from accounts.models import User
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Entry, Posting
from common import clock
from config.celery import SWEEPS
from marketplace import sweep_runs
from marketplace.models import Incident, SweepRun
from marketplace.sweep_runs import check_sweeps, late_sweeps
from tests.billing.money import RATE, UNIT, Source, assert_sound, at, charged, execute, grant, in_parallel, make_user, settle
from tests.marketplace.shapes import enrolled, gpu

pytestmark = pytest.mark.django_db(transaction=True)

HOURS = 3
NOW = at(hours=HOURS, seconds=100)


@pytest.fixture
def sources() -> list[Source]:
    """Six meters of three renters at two hosts, three hours and a bit unsettled; every third is closed by a gap.

    The others are proven an hour longer, so that their holds are due.
    """
    renters, hosts = [make_user(f"renter{n}") for n in range(3)], [make_user(f"host{n}") for n in range(2)]
    for renter in renters:
        grant(renter, 1000 * UNIT)
    sources = [Source(renters[n % 3], hosts[n % 2], rate=RATE + n).start() for n in range(6)]
    execute("UPDATE billing_meter SET proven_until = %s", NOW)
    extend_holds(now=NOW)
    for source in sources[::3]:
        source.prove(NOW + timedelta(hours=1))
    execute("UPDATE billing_meter SET proven_until = %s WHERE closed_at IS NULL", NOW + timedelta(hours=1))
    return sources


def expected(sources: list[Source]) -> list[int]:
    rest = (100 if n % 3 == 0 else 3600 for n in range(len(sources)))
    return [source.rate * HOURS + round(source.rate * seconds / 3600) for source, seconds in zip(sources, rest, strict=True)]


class Killer:
    """Ends this connection's server process, as a killed worker's is ended, before its statement of that number."""

    def __init__(self, number: int) -> None:
        self.number, self.seen = number, 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        self.seen += 1
        if self.seen == self.number:
            pid = connection.connection.info.backend_pid
            rival = psycopg2.connect(os.environ["DATABASE_URL"])
            with rival, rival.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            rival.close()
        return execute(sql, params, many, context)


def kill_at(number: int, work: Callable[[], object]) -> bool:
    """Whether `work` was killed at its statement of this number; False when it has fewer."""
    killer = Killer(number)
    try:
        with connection.execute_wrapper(killer):
            work()
    except Error:
        assert killer.seen >= number, "it was killed by nothing of ours"
    finally:
        connection.close()
    return killer.seen >= number


@pytest.mark.parametrize("work", [settle_meters, extend_holds])
def test_fault_061_a_worker_killed_at_every_statement_leaves_all_or_nothing(
    sources: list[Source], work: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch, so that all of it is on this connection; what a killed worker had locked is free at once."""
    monkeypatch.setattr("billing.metering.settle.SETTLE_LEAST", 1_000_000)
    later = NOW + timedelta(hours=1)
    with time_machine.travel(later, tick=False):
        number = 1
        while kill_at(number, lambda: work(now=later)):
            done = [charged(source.key) for source in sources]
            assert done in ([0] * len(sources), expected(sources)), f"killed at statement {number}"
            number += 1
        assert number > 5, "it has so many statements"
        settle(later)
    assert [charged(source.key) for source in sources] == expected(sources)
    assert_sound()


def test_fault_060_metering_stopped_for_a_day_charges_what_it_would_have_on_time() -> None:
    """Two renters with the same use: one is settled each hour, the other's worker comes back after 24 hours."""
    host, punctual, late = make_user("host"), make_user("punctual"), make_user("late")
    totals = []
    for renter, hours in ((punctual, range(1, 25)), (late, (24,))):
        grant(renter, 1000 * UNIT)
        source = Source(renter, host).start()
        for hour in range(1, 25):
            moment = at(hours=hour)
            for minute in range(59, -1, -1):  # agents report on; the proofs have no gap
                source.prove(moment - timedelta(minutes=minute))
            extend_holds(now=moment)
            if hour in hours:
                settle(moment)
        with time_machine.travel(at(hours=24), tick=False):
            source.close()
        totals.append(charged(source.key))
    assert totals == [24 * RATE, 24 * RATE]
    assert_sound()


def test_fault_085_a_beat_that_is_absent_is_told_of_and_one_that_is_back_too() -> None:
    """Who makes no passes cannot tell of it, so the web does, with the messages of agents."""
    current_app.loader.import_default_modules()
    sweep_runs._written.clear()
    with time_machine.travel(NOW, tick=False):
        for name in ("instances.charge_meters", "marketplace.mark_silent_hosts", "billing.reconcile_stripe"):
            current_app.tasks[name].apply(throw=True)
        check_sweeps(now=NOW, at_once=True)
        assert not Incident.objects.exists()
    check_sweeps(now=NOW + timedelta(seconds=181), at_once=True)
    check_sweeps(now=NOW + timedelta(seconds=190), at_once=True)
    detail = Incident.objects.get(kind="sweeps_late", closed_at=None).detail
    assert "instances.charge_meters" in detail and "mark_silent_hosts" in detail
    assert "reconcile_stripe" not in detail, "it comes every ten minutes"
    sweep_runs._written.clear()
    with time_machine.travel(NOW + timedelta(seconds=200), tick=False):
        for name in ("instances.charge_meters", "marketplace.mark_silent_hosts"):
            current_app.tasks[name].apply(throw=True)
    check_sweeps(now=NOW + timedelta(seconds=201), at_once=True)
    assert Incident.objects.get().closed_by == "they are made again"


def test_fault_085_a_pass_that_a_new_version_does_not_make_is_not_late() -> None:
    SweepRun.objects.create(name="instances.of_the_version_before", every_s=60, ended_at=NOW - timedelta(days=1))
    SweepRun.objects.create(name="instances.charge_meters", every_s=60, ended_at=NOW - timedelta(days=1))
    with time_machine.travel(NOW, tick=False):
        worker_init.send(sender=None)
    assert [run.name for run in late_sweeps(now=NOW)] == ["instances.charge_meters"]


def test_fault_085_the_latest_sweeps_are_named_first() -> None:
    """By how long they are overdue: one of every ten minutes may be older than one of every minute and less late."""
    for name, every_s, ago in (("a.slow", 600, 1900), ("b.later", 60, 400), ("c.latest", 60, 900), ("d.latest", 60, 900)):
        SweepRun.objects.create(name=name, every_s=every_s, ended_at=NOW - timedelta(seconds=ago))
    assert [run.name for run in late_sweeps(now=NOW)] == ["c.latest", "d.latest", "b.later", "a.slow"]


def test_fault_085_a_beat_that_never_started_is_told_of() -> None:
    """As in a new market whose beat, or one of its sweeps, fails from the first run on."""
    with time_machine.travel(NOW, tick=False):
        worker_init.send(sender=None)
    check_sweeps(now=NOW + timedelta(seconds=180), at_once=True)
    assert not Incident.objects.exists()
    check_sweeps(now=NOW + timedelta(seconds=181), at_once=True)
    assert Incident.objects.filter(kind="sweeps_late", closed_at=None).exists()
    late = {run.name for run in late_sweeps(now=NOW + timedelta(seconds=181))}
    assert "instances.charge_meters" in late and "billing.reconcile_stripe" not in late


def test_fault_085_a_worker_that_never_started_is_told_of(hana: User) -> None:
    """Nobody has ever recorded a sweep, but hosts have been reporting for minutes."""
    SweepRun.objects.all().delete()
    check_sweeps(now=NOW, at_once=True)
    assert not Incident.objects.exists(), "a market without hosts has nothing to sweep"
    host = enrolled(hana, [gpu()])
    check_sweeps(now=host.enrolled_at + timedelta(seconds=180), at_once=True)
    assert not Incident.objects.exists()
    check_sweeps(now=host.enrolled_at + timedelta(seconds=181), at_once=True)
    assert Incident.objects.get(kind="sweeps_late", closed_at=None).detail.startswith("No sweep has ever run")
    with time_machine.travel(host.enrolled_at + timedelta(seconds=200), tick=False):
        worker_init.send(sender=None)
        check_sweeps(now=clock.now(), at_once=True)
    assert Incident.objects.get().closed_by == "they are made again"


def test_fault_085_two_beats_do_everything_once(sources: list[Source]) -> None:
    """Each sweep of the schedule by four workers at the same moment, then once more: nothing is done twice."""
    later = NOW + timedelta(hours=1)

    def all_sweeps() -> None:
        for name in SWEEPS:
            if name not in ("accounts.send_mails",):  # it has one sender by its own lock, and waits for it
                current_app.tasks[name]()

    current_app.loader.import_default_modules()
    with time_machine.travel(later, tick=False):
        in_parallel([all_sweeps] * 4)
        settle(later)
        first = (Posting.objects.count(), Entry.objects.count())
        in_parallel([all_sweeps] * 2)
        settle(later)
    assert [charged(source.key) for source in sources] == expected(sources)
    assert (Posting.objects.count(), Entry.objects.count()) == first
    assert_sound()
