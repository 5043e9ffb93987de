"""Lives of renters that the real services lead, each beside an oracle of its own."""

import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection

from accounts.models import User
from billing.constants import DISK_SOURCE, HOLD_SOURCE, INSTANCE_SOURCE, TERM_SOURCE
from billing.errors import InsufficientFunds
from billing.ledger.wallets import open_wallet
from billing.metering import escrow
from billing.metering.holds import hold_funds
from billing.metering.meters import cap_meter, close_meter, open_meter
from billing.models import Hold, Meter, Wallet
from billing.pricing.tariffs import Scope, Tariff
from common.db.transactions import use_case
from common.ids import new_uuid
from instances.metering.reserved_terms import early_end_micros
from instances.models import Term
from tests.billing.funding import grant_all
from tests.billing.money import START
from tests.billing.oracle import HOUR, MINUTE, Leg, Price, Purse, early_end

CONTINUOUS: Final = 30 * MINUTE
HOSTS: Final = 12
TERM_HOURS: Final = 24
RICH: Final = 10**15
MODES: Final = (
    *("hourly", "tiered", "tiered", "spot", "term", "upfront"),
    *("hourly", "tiered", "tiered", "spot", "term", "hourly"),
)


def moment(now: int) -> datetime:
    return START + timedelta(microseconds=now)


def tariff_of(price: Price) -> Tariff:
    return Tariff(price.marks[0][1], price.hours, price.marks[1:], price.most)


@dataclass
class Use:
    """One source of a renter's and what the oracle says of it."""

    mode: str
    source_kind: str
    source_id: UUID
    price: Price
    leg: Leg
    list_rate: int = 0
    whole: int = 0  # what a term costs in all
    closing_at: int | None = None

    @property
    def key(self) -> tuple[str, UUID]:
        return self.source_kind, self.source_id


@dataclass
class Life:
    """A renter with one instance and perhaps a disk, at one host."""

    rng: random.Random
    renter: User
    host: User
    purse: Purse
    main: Use | None = None
    disk: Use | None = None
    kept: Use | None = None
    over: list[Use] = field(default_factory=list)
    host_extra: int = 0  # of early ends
    fee_extra: int = 0
    sleeps_until: int = 0
    moves_often: bool = False  # its spot price, so that its meter goes on as another one
    instance: UUID = field(default_factory=uuid.uuid4)
    renter_wallet: UUID = field(default_factory=uuid.uuid4)
    host_wallet: UUID = field(default_factory=uuid.uuid4)

    @property
    def uses(self) -> list[Use]:
        return [use for use in (self.main, self.disk, self.kept) if use is not None]

    # -- prices

    def price(self, mode: str) -> Price:
        rng = self.rng
        rate = rng.choice([1, 59, 3_060_000, 7_777_777, rng.randrange(1, 10**8), rng.randrange(1, 10**10)])
        if mode == "tiered":
            begins = sorted(rng.sample(range(1, 150 * MINUTE), rng.choice([1, 1, 2, 5])))
            rates = sorted((rng.randrange(rate + 1) for _ in begins), reverse=True)
            return Price(((0, rate), *zip(begins, rates, strict=True)))
        if mode == "spot":
            return Price(((0, rate),), most=rate * rng.choice([1, 2, 3]) + rng.randrange(rate + 1))
        if mode == "disk":
            return Price(((0, rng.randrange(10**8) // 24 * 24 + 1),), hours=24)
        return Price(((0, rate),))

    # -- begin and end, oracle and services side by side

    def start(self, mode: str, now: int, *, bulk: "Rows | None" = None, at: int | None = None) -> Use | None:
        """Begin to use something now; None (and both agree) when the money does not reach."""
        price = self.price(mode)
        kind = {"disk": DISK_SOURCE, "kept": HOLD_SOURCE, "upfront": TERM_SOURCE, "term": TERM_SOURCE}.get(
            mode, INSTANCE_SOURCE
        )
        source = uuid.uuid4() if kind == TERM_SOURCE else self.instance
        rate = price.marks[0][1]
        whole = rate * TERM_HOURS if kind == TERM_SOURCE else 0
        needed = whole if mode == "upfront" else price.first_hour()
        affordable = needed <= self.purse.spendable
        use = Use(mode, kind, source, price, Leg(needed, from_escrow=mode == "upfront"), whole=whole)
        use.list_rate = rate + self.rng.randrange(rate + 1)
        if bulk is not None and mode != "upfront":
            if not affordable:
                return None
            self._begin(use, now, at)
            bulk.add(self, use)
            return use
        try:
            self._start_for_real(use, now, now if at is None else at)
        except InsufficientFunds:
            assert not affordable, (mode, needed, self.purse.spendable)
            return None
        assert affordable, (mode, needed, self.purse.spendable)
        self._begin(use, now, at)
        return use

    def _begin(self, use: Use, now: int, at: int | None) -> None:
        before = [stretch for old in self.over if old.key == use.key for stretch in old.leg.stretches]
        begins = now if at is None else at
        base = 0
        if before:
            last = before[-1]
            begins = max(begins, last.proven)
            if use.mode == "tiered" and begins - last.end(begins) <= CONTINUOUS:
                base = last.used(last.end(begins))
        use.leg.begin(now=begins, price=use.price, calendar=self._by_the_clock(use), base=base)
        if use.mode == "upfront":
            self.purse.gone += use.whole
        if use.mode in ("upfront", "term"):
            use.leg.stop(now + TERM_HOURS * HOUR)
        self.purse.legs.append(use.leg)

    @staticmethod
    def _by_the_clock(use: Use) -> bool:
        return use.mode in ("disk", "kept", "upfront", "term")

    def _start_for_real(self, use: Use, now: int, at: int) -> None:
        upfront = use.mode == "upfront"
        scope = Scope(mode=use.mode[:10], gpu_model="h100")
        with use_case():
            if use.source_kind == TERM_SOURCE:
                escrow.lock_parties(renter_id=self.renter.pk, host_owner_id=self.host.pk)
            if upfront:
                escrow.prepay(
                    renter_id=self.renter.pk, term_id=use.source_id, amount_micros=use.whole, memo="term", scope=scope
                )
            hold_funds(
                owner_id=self.renter.pk,
                amount_micros=use.leg.paid_in,
                source_kind=use.source_kind,
                source_id=use.source_id,
                scope=scope,
                from_escrow=upfront,
            )
            open_meter(
                source_kind=use.source_kind,
                source_id=use.source_id,
                payer_id=self.renter.pk,
                payee_id=self.host.pk,
                label=use.mode,
                tariff=tariff_of(use.price),
                at=moment(at),
                calendar=self._by_the_clock(use),
                from_escrow=upfront,
                continue_within=timedelta(microseconds=CONTINUOUS) if use.mode == "tiered" else None,
            )
            if use.mode in ("upfront", "term"):
                cap_meter(source_kind=use.source_kind, source_id=use.source_id, at=moment(now + TERM_HOURS * HOUR))

    def end(self, use: Use, now: int) -> None:
        """Close it; a term that ends early is priced anew and the rest of what was prepaid comes back."""
        with use_case():
            if use.source_kind == TERM_SOURCE:
                escrow.lock_parties(renter_id=self.renter.pk, host_owner_id=self.host.pk)
            close_meter(
                source_kind=use.source_kind, source_id=use.source_id, at=moment(now) if use.leg.last.calendar else None
            )
            cost = use.leg.close(now)
            self.purse.gone += cost if use.mode != "upfront" else cost - use.whole
            if use.source_kind == TERM_SOURCE:
                self._end_term(use, cost)
        self.over.append(use)
        if use is self.main:
            self.main = None
        elif use is self.disk:
            self.disk = None
        else:
            self.kept = None

    def _end_term(self, use: Use, cost: int) -> None:
        """The service's sum against the oracle's; then the oracle's is posted as far as the wallet can pay."""
        rate = use.price.marks[0][1]
        all_in = early_end(cost, rate, use.list_rate, use.whole)
        term = Term(unit_micros=rate, list_unit_micros=use.list_rate, gpu_count=1, total_micros=use.whole)
        assert escrow.net_charged(use.source_id) == cost
        assert early_end_micros(term, cost) == all_in
        prepaid = use.mode == "upfront"
        spendable = self.purse.spendable
        extra = all_in - cost if prepaid else min(all_in - cost, spendable)
        escrow.charge_early_end(
            renter_id=self.renter.pk,
            host_owner_id=self.host.pk,
            term_id=use.source_id,
            amount_micros=extra,
            prepaid=prepaid,
            memo="early",
        )
        if prepaid:
            escrow.return_unused(
                renter_id=self.renter.pk, term_id=use.source_id, amount_micros=use.whole - cost - extra, memo="back"
            )
        self.purse.gone += extra
        fee = half_up_tenth(extra)
        self.fee_extra += fee
        self.host_extra += extra - fee


def half_up_tenth(amount: int) -> int:
    return (2 * amount + 10) // 20


@dataclass
class Rows:
    """Holds and meters as `hold_funds` and `open_meter` write them, in a few statements for hundreds of sources."""

    holds: list[Hold] = field(default_factory=list)
    meters: list[Meter] = field(default_factory=list)

    def add(self, life: Life, use: Use) -> None:
        scope = (use.mode[:10], "h100")
        self.holds.append(
            Hold(
                wallet_id=life.renter_wallet,
                source_kind=use.source_kind,
                source_id=use.source_id,
                mode=scope[0],
                gpu_model=scope[1],
                amount_micros=use.leg.paid_in,
            )
        )
        last, tariff = use.leg.last, tariff_of(use.price)
        self.meters.append(
            Meter(
                id=new_uuid(),
                payer_id=life.renter_wallet,
                payee_id=life.host_wallet,
                source_kind=use.source_kind,
                source_id=use.source_id,
                label=use.mode,
                mode=scope[0],
                gpu_model=scope[1],
                calendar=last.calendar,
                rate_micros=tariff.rate_micros,
                rate_hours=tariff.hours,
                steps_us=[begin for begin, _ in tariff.steps],
                steps_micros=[rate for _, rate in tariff.steps],
                most_micros=tariff.most_micros,
                fee_bps=1000,
                opened_at=moment(last.opened),
                proven_until=moment(last.proven),
                settled_until=moment(last.opened),
                funded_until=moment(last.funded),
                capped_at=None if last.cap is None else moment(last.cap),
            )
        )

    def write(self) -> None:
        Hold.objects.bulk_create(self.holds)
        Meter.objects.bulk_create(self.meters)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE billing_wallet SET held_micros = total FROM (SELECT wallet_id, sum(amount_micros) AS total"
                " FROM billing_hold WHERE released_at IS NULL GROUP BY wallet_id) AS held"
                " WHERE wallet_id = billing_wallet.id"
            )


def make_lives(rng: random.Random, count: int) -> list[Life]:
    """Renters with wallets of their own, scarce or rich, at a dozen hosts."""
    tag = uuid.uuid4().hex[:8]
    users = [User(email=f"{tag}-{n}@example.com", password="!", display_name=f"{n}") for n in range(count + HOSTS)]
    User.objects.bulk_create(users)
    renters, hosts = users[:count], users[count:]
    wallets = [Wallet(owner=user, kind="renter") for user in renters] + [Wallet(owner=user, kind="host") for user in hosts]
    Wallet.objects.bulk_create(wallets)
    host_wallets = {wallet.owner_id: wallet.pk for wallet in wallets[count:]}
    open_wallet(owner_id=None, kind=Wallet.Kind.PLATFORM)
    open_wallet(owner_id=None, kind=Wallet.Kind.ESCROW)
    lives = []
    for place, (renter, wallet) in enumerate(zip(renters, wallets, strict=False)):
        host = rng.choice(hosts)
        scarce = [rng.randrange(10**6, 3 * 10**7), rng.randrange(10**8, 10**9)]
        purse = Purse(RICH if MODES[place % len(MODES)] == "spot" else rng.choice([RICH, RICH, *scarce]))
        own = random.Random(rng.getrandbits(64))
        often = place % 40 == 3
        lives.append(
            Life(own, renter, host, purse, moves_often=often, renter_wallet=wallet.pk, host_wallet=host_wallets[host.pk])
        )
    grant_all([(life.renter, life.purse.money) for life in lives if life.purse.money], memo="money")
    return lives
