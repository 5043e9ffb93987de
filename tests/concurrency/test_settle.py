"""Settling by eight workers equals settling by one; a replay meets the walls; a storm of everything stays sound."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import IntegrityError, OperationalError, connection

from accounts.models import User
from billing.constants import SETTLE_BATCH
from billing.errors import NoOpenHold
from billing.ledger.postings import lock_wallets
from billing.metering.meters import cap_meter, close_meter, prove_meters
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Entry, Meter, Posting, Wallet
from common.db.transactions import use_case
from tests.billing.money import (
    RATE,
    START,
    UNIT,
    Source,
    assert_sound,
    at,
    charged,
    execute,
    execute_as_owner,
    grant,
    in_parallel,
    make_user,
    platform,
    settle,
    triggers_off,
    wallet,
)
from tests.lock_waits import wait_until_one_waits_for_us
from tests.roles import as_owner

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 8
HOURS = 5
NOW = at(hours=HOURS, seconds=100)


@pytest.fixture
def sources() -> list[Source]:
    """Forty meters of ten renters at six hosts, five hours and a bit unsettled; every fourth is closed by a gap."""
    renters = [make_user(f"renter{n}") for n in range(10)]
    hosts = [make_user(f"host{n}") for n in range(6)]
    for renter in renters:
        grant(renter, 1000 * UNIT)
    sources = [Source(renters[n % 10], hosts[n % 6], rate=RATE + n).start() for n in range(40)]
    execute("UPDATE billing_meter SET proven_until = %s", NOW)
    extend_holds(now=NOW)
    for source in sources[::4]:
        source.prove(NOW + timedelta(hours=1))
    return sources


def balances() -> dict[str, int]:
    return {str(row.pk): row.balance_micros for row in Wallet.objects.all()}


def expected(sources: list[Source]) -> list[int]:
    rest = (100 if n % 4 == 0 else 0 for n in range(len(sources)))
    return [source.rate * HOURS + round(source.rate * seconds / 3600) for source, seconds in zip(sources, rest, strict=True)]


def test_one_worker(sources: list[Source]) -> None:
    assert settle(NOW + timedelta(hours=1)) == 40 * HOURS + 10
    assert [charged(source.key) for source in sources] == expected(sources)
    assert_sound()


@pytest.mark.parametrize("batch", [SETTLE_BATCH, 7])
def test_fault_059_eight_workers_at_once_charge_what_one_would(
    sources: list[Source], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("billing.metering.settle.SETTLE_BATCH", batch)
    now = NOW + timedelta(hours=1)
    posted = in_parallel([lambda: settle_meters(now=now)] * WORKERS)
    assert sum(int(str(count)) for count in posted) == 40 * HOURS + 10
    assert [charged(source.key) for source in sources] == expected(sources)
    assert -sum(expected(sources)) == sum(Entry.objects.filter(kind="charge").values_list("amount_micros", flat=True))
    assert_sound()


def test_fault_062_a_replay_by_eight_workers_writes_nothing(sources: list[Source]) -> None:
    now = NOW + timedelta(hours=1)
    settle(now)
    before = (balances(), Posting.objects.count(), Entry.objects.count())
    assert in_parallel([lambda: settle_meters(now=now)] * WORKERS) == [0] * WORKERS
    assert (balances(), Posting.objects.count(), Entry.objects.count()) == before


def forget_what_is_settled() -> None:
    """As if the meters had come back from a stale backup. The holds are refilled, so that only the walls can object."""
    with triggers_off():  # only usage rows may move it
        execute("UPDATE billing_meter SET settled_until = opened_at")
    execute("UPDATE billing_hold SET amount_micros = amount_micros + 100000000")
    execute("UPDATE billing_wallet w SET held_micros = (SELECT sum(amount_micros) FROM billing_hold WHERE wallet_id = w.id)"
            " WHERE kind = 'renter'")  # fmt: skip


@pytest.fixture
def unique_down() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'no_second_charged_twice'")
        (definition,) = cursor.fetchone()
    execute_as_owner("ALTER TABLE billing_usage DROP CONSTRAINT no_second_charged_twice")
    yield
    execute_as_owner("TRUNCATE billing_usage")
    execute_as_owner(f"ALTER TABLE billing_usage ADD CONSTRAINT no_second_charged_twice {definition}")


def test_meters_that_forgot_their_past_cannot_charge_it_again(sources: list[Source]) -> None:
    settle(NOW)
    before = balances()
    forget_what_is_settled()
    assert settle(NOW) == 0
    assert balances() == before


@pytest.mark.usefixtures("unique_down")
def test_fault_059_with_that_wall_down_they_charge_everything_twice(sources: list[Source]) -> None:
    settle(NOW)
    once = sum(charged(source.key) for source in sources)
    forget_what_is_settled()
    assert settle(NOW) > 0
    assert sum(charged(source.key) for source in sources) == 2 * once


def test_a_storm_of_proofs_settlements_renewals_and_closings_stays_sound(alice: User, bob: User, hana: User) -> None:
    grant(alice, 500 * UNIT)
    grant(bob, 40 * UNIT)
    sources = [Source(payer, hana, rate=RATE).start() for payer in (alice, bob) for _ in range(6)]
    failures = in_parallel([lambda seed=seed: storm(random.Random(seed), sources) for seed in range(WORKERS)])  # type: ignore[misc]  # a default binds the seed
    assert failures == [None] * WORKERS
    end = at(hours=9)
    assert_sound(end)
    with time_machine.travel(end, tick=False):
        for source in sources:
            source.close()
        settle_meters(now=end)
    assert_sound(end)
    spent = sum(charged(source.key) for source in sources)
    assert spent > 0
    assert wallet(alice).held_micros == wallet(bob).held_micros == 0
    assert wallet(alice).balance_micros + wallet(bob).balance_micros == 540 * UNIT - spent
    assert wallet(hana, "host").balance_micros + platform().balance_micros == spent
    assert not Meter.objects.filter(closed_at__isnull=True).exists()


def storm(rng: random.Random, sources: list[Source]) -> None:
    """One worker among several on the same sources; time runs on, with gaps. A deadlock's victim would try again."""
    moment = START
    for _ in range(60):
        moment += timedelta(seconds=rng.choice([40, 100, 110, 119, 700]))
        source = rng.choice(sources)
        chance = rng.random()
        try:
            _strike(chance, source, moment)
        except OperationalError as error:
            raise AssertionError(f"a lock order was broken: {error}") from error


def _strike(chance: float, source: Source, moment: datetime) -> None:
    if chance < 0.6:
        source.prove(moment)
    elif chance < 0.75:
        settle_meters(now=moment)
    elif chance < 0.9:
        extend_holds(now=moment)
    elif chance < 0.95:
        source.cap(moment + timedelta(seconds=30))
    else:
        source.close()


def test_a_meter_that_is_being_opened_is_not_lost_to_a_release(alice: User, hana: User) -> None:
    grant(alice, 1000 * UNIT)
    for _ in range(10):
        source = Source(alice, hana)
        source.hold()
        outcomes = in_parallel([lambda source=source: source.open(START), source.close])  # type: ignore[misc]  # bound now
        assert all(outcome is None or isinstance(outcome, NoOpenHold) for outcome in outcomes), outcomes
        assert source.open_hold is None
        assert all(meter.closed_at for meter in source.meters)
    assert_sound()


def test_closing_waits_for_a_proof_that_replaces_the_meter_and_closes_the_successor(alice: User, hana: User) -> None:
    grant(alice, 100 * UNIT)
    source = Source(alice, hana).start()
    source.prove(at(seconds=100))
    with ThreadPoolExecutor(1) as pool:
        with use_case():
            prove_meters(source_kind="instance", source_ids=[source.key], at=at(seconds=1000))
            closing = pool.submit(in_parallel, [source.close])
            wait_until_one_waits_for_us()
        assert closing.result() == [None]
    assert len(source.meters) == 2
    assert all(meter.closed_at for meter in source.meters)
    assert charged(source.key) == 85_000
    assert_sound()


def test_a_settlement_leaves_a_meter_in_other_hands_and_does_not_wait(sources: list[Source]) -> None:
    """It holds wallets: would it wait for a meter whose holder then asks for a wallet, neither could go on."""
    busy = sources[1]
    with ThreadPoolExecutor(1) as pool, use_case():
        cap_meter(source_kind="instance", source_id=busy.key, at=NOW)
        assert pool.submit(in_parallel, [lambda: settle_meters(now=NOW)]).result() == [39 * HOURS + 10]
        close_meter(source_kind="instance", source_id=busy.key)
    assert charged(busy.key) == busy.rate * HOURS + round(busy.rate * 100 / 3600)
    assert_sound()


def test_a_refused_batch_leaves_nothing_behind(sources: list[Source]) -> None:
    execute("UPDATE billing_hold SET amount_micros = 0")
    before = balances()
    assert settle(NOW) == 0
    assert balances() == before
    assert not Posting.objects.filter(kind="usage").exists()
    with pytest.raises(IntegrityError):
        sources[0].close()


def test_hosts_wallets_are_asked_for_when_all_else_is_written(sources: list[Source]) -> None:
    """A batch takes seconds: what ends on one of its hosts meanwhile must not wait for it."""
    with ThreadPoolExecutor(1) as pool:
        with use_case():
            lock_wallets([host.pk for host in Wallet.objects.filter(kind="host")])
            settling = pool.submit(in_parallel, [lambda: settle_meters(now=NOW)])
            wait_until_one_waits_for_us()
            assert "host_share" in _waiting_query()
            assert "INSERT" not in _waiting_query()
        assert settling.result() == [40 * HOURS + 10]
    assert_sound()


def _waiting_query() -> str:
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT query FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))")
        ((query,),) = cursor.fetchall()
    return str(query)
