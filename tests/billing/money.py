"""What the tests of the money share: users with wallets, metered sources, a clock that obeys, and sums by hand."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any
from uuid import UUID

import time_machine
from django.db import connection

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.constants import INSTANCE_SOURCE
from billing.ledger.grants import lock_cash_wallets, movements_in
from billing.ledger.postings import post
from billing.ledger.wallets import grant_credit
from billing.metering.holds import hold_funds
from billing.metering.meters import cap_meter, close_meter, open_meter, prove_meters
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Entry, Hold, Meter, Payment, Posting, Usage, Wallet
from billing.pricing.tariffs import Tariff
from common import clock
from common.db.transactions import use_case
from tests.roles import as_owner

START = datetime(2025, 3, 1, 9, 30, 0, 123457, tzinfo=UTC)
UNIT = 1_000_000
RATE = 3_060_000


def at(**offset: float) -> datetime:
    """So long after START."""
    return START + timedelta(**offset)


def grant(user: User, micros: int) -> None:
    key = uuid.uuid4().hex
    grant_credit(owner_id=user.pk, amount_micros=micros, actor="test", key=key, memo="top-up", confirmed_by="second")


def pay_in(user: User, micros: int) -> Payment:
    """Cash: a top-up by card, as Stripe's messages would have it."""
    now = clock.now()
    payment = Payment.objects.create(owner=user, amount_micros=micros, state="succeeded", created_at=now, paid_at=now)
    with use_case():
        post(
            key=f"topup:{payment.pk.hex}",
            kind=Posting.Kind.TOP_UP,
            source_kind="topup",
            source_id=payment.pk,
            memo="Top-up by card",
            actor="stripe",
            movements=movements_in(lock_cash_wallets(owner_id=user.pk), micros, Entry.Kind.TOP_UP),
            at=now,
        )
    return payment


def wallet(user: User, kind: str = "renter") -> Wallet:
    return Wallet.objects.get(owner=user, kind=kind)


def platform() -> Wallet:
    return Wallet.objects.get(kind="platform")


def charged(source: UUID) -> int:
    """What the ledger has charged for a source."""
    return sum(Usage.objects.filter(meter__source_id=source).values_list("charge_micros", flat=True))


def make_user(name: str) -> User:
    return User.objects.create_user(f"{name}-{uuid.uuid4().hex[:8]}@example.com", "correct-horse-battery")


@dataclass
class Source:
    """One metered source, driven through the services as instances would."""

    payer: User
    payee: User
    rate: int = RATE
    key: UUID = field(default_factory=uuid.uuid4)
    tariff: Tariff | None = None
    calendar: bool = False
    continue_within: timedelta | None = None

    def hold(self, micros: int | None = None) -> None:
        with use_case():
            amount = self.rate if micros is None else micros
            hold_funds(owner_id=self.payer.pk, amount_micros=amount, source_kind=INSTANCE_SOURCE, source_id=self.key)

    def open(self, moment: datetime) -> None:
        with use_case():
            open_meter(
                source_kind=INSTANCE_SOURCE,
                source_id=self.key,
                payer_id=self.payer.pk,
                payee_id=self.payee.pk,
                label="2 × RTX 4090",
                tariff=self.tariff or Tariff(self.rate),
                calendar=self.calendar,
                continue_within=self.continue_within,
                at=moment,
            )

    def start(self, moment: datetime = START) -> "Source":
        self.hold()
        self.open(moment)
        return self

    def prove(self, moment: datetime) -> None:
        with use_case():
            prove_meters(source_kind=INSTANCE_SOURCE, source_ids=[self.key], at=moment)

    def run(self, begin: datetime, end: datetime, step: timedelta = timedelta(seconds=100), *, renewed: bool = True) -> None:
        """Proofs without a gap, and renewals of the hold on the way."""
        moment = begin
        while moment < end:
            moment = min(end, moment + step)
            self.prove(moment)
            if renewed:
                extend_holds(now=moment)

    def cap(self, moment: datetime) -> None:
        with use_case():
            cap_meter(source_kind=INSTANCE_SOURCE, source_id=self.key, at=moment)

    def close(self) -> None:
        with use_case():
            close_meter(source_kind=INSTANCE_SOURCE, source_id=self.key)

    @property
    def meters(self) -> list[Meter]:
        return list(Meter.objects.filter(source_id=self.key).order_by("opened_at"))

    @property
    def meter(self) -> Meter:
        return self.meters[-1]

    @property
    def open_hold(self) -> Hold | None:
        return Hold.objects.filter(source_id=self.key, released_at__isnull=True).first()


def settle(moment: datetime) -> int:
    with time_machine.travel(moment, tick=False):
        return settle_meters(now=moment)


def assert_sound(moment: datetime | None = None) -> None:
    """No invariant of the ledger is broken, seen at `moment`."""
    if moment is None:
        assert [str(finding) for finding in ledger_findings()] == []
        return
    with time_machine.travel(moment, tick=False):
        assert [str(finding) for finding in ledger_findings()] == []


@contextmanager
def triggers_off() -> Iterator[None]:
    """The sabotage switch of append-only and balanced postings: as the owner, who can skip triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as a commit would: what was done before is checked before
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


def execute(query: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)


def execute_as_owner(query: str, *parameters: Any) -> None:
    """What only the owner of the tables can do, past the triggers: take walls down, wipe."""
    with triggers_off():
        execute(query, *parameters)


def in_parallel(works: list[Callable[[], object]]) -> list[object]:
    """Run all at once, each in a thread with a connection of its own; results or exceptions in the order of `works`."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], object]) -> object:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=60)
            return work()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))
