"""Simulated hosts with random histories, written straight into the tables: a thousand of them in a moment."""

import random
from datetime import datetime, timedelta
from uuid import uuid4

from accounts.models import User
from marketplace.models import Host, Maintenance, Offer, ReliabilityEvent
from marketplace.states import HostState, MaintenanceCategory, ReliabilityKind

_DAY_S = 86_400


def simulate_hosts(owner: User, count: int, now: datetime, seed: int = 7) -> list[Host]:
    """Hosts with offers, outages (some going on), failures, starts and maintenance of every kind."""
    rng = random.Random(seed)
    hosts = Host.objects.bulk_create(_host(owner, number, now - _span(rng, 60)) for number in range(count))
    Offer.objects.bulk_create(_offer(host) for host in hosts)
    for host in hosts:
        _give_history(rng, host, now)
    return hosts


def _give_history(rng: random.Random, host: Host, now: datetime) -> None:
    events = [_moment(rng, host, kind, now) for kind in _kinds(rng)]
    end = None
    for _ in range(rng.choice([0, 0, 1, 3, 8])):  # outages of a host follow one another
        start = (end or host.enrolled_at) + _span(rng, 12)
        end = start + _span(rng, rng.choice([0.02, 0.5, 3]))
        if start < now:
            lasts = end >= now
            kind = ReliabilityKind.OUTAGE
            events.append(ReliabilityEvent(host=host, kind=kind, starts_at=start, ends_at=None if lasts else end))
            if lasts:
                break
    ReliabilityEvent.objects.bulk_create(events)
    Maintenance.objects.bulk_create(_maintenance(rng, host, now) for _ in range(rng.choice([0, 0, 1, 4])))


def _kinds(rng: random.Random) -> list[ReliabilityKind]:
    return [
        *[ReliabilityKind.STARTED] * rng.choice([0, 3, 30]),
        *[ReliabilityKind.FAILED_START] * rng.choice([0, 0, 1, 4]),
        *[ReliabilityKind.HOST_FAULT] * rng.choice([0, 0, 0, 2]),
    ]


def _moment(rng: random.Random, host: Host, kind: ReliabilityKind, now: datetime) -> ReliabilityEvent:
    at = host.enrolled_at + (now - host.enrolled_at) * rng.random()
    return ReliabilityEvent(host=host, kind=kind, subject=uuid4(), starts_at=at, detail="ssh_silent")


def _maintenance(rng: random.Random, host: Host, now: datetime) -> Maintenance:
    start = now - _span(rng, 40) + timedelta(days=5)
    end = start + _span(rng, 0.5)
    return Maintenance(
        host=host,
        category=rng.choice(MaintenanceCategory.values),
        announced_at=start - rng.choice([timedelta(days=1), timedelta(hours=25), timedelta(days=1, microseconds=-1)]),
        starts_at=start,
        ends_at=end,
        cancelled_at=rng.choice([None, None, None, start - timedelta(hours=1), start + (end - start) / 3]),
    )


def _span(rng: random.Random, days: float) -> timedelta:
    """Up to so many days, to the microsecond."""
    return timedelta(microseconds=rng.randrange(1, max(2, int(days * _DAY_S * 1_000_000))))


def _host(owner: User, number: int, enrolled_at: datetime) -> Host:
    return Host(
        owner=owner,
        name=f"sim-{number:04}",
        region="eu",
        state=HostState.ONLINE,
        simulated=True,
        runtime="simulated",
        address="198.51.100.9",
        cpu_cores=32,
        ram_mb=131_072,
        disk_total_gb=2000,
        disk_free_gb=1500,
        port_first=40_000,
        port_last=40_999,
        enrolled_at=enrolled_at,
        last_seen_at=enrolled_at,
    )


def _offer(host: Host) -> Offer:
    return Offer(
        host=host, gpu_model="rtx-4090", region=host.region, runtime="simulated", price_micros=1_000_000, host_name=host.name
    )
