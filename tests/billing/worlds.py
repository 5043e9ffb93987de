"""A world of renters under one clock: reports, prices that move, sweeps however they come, and the verdict."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import time_machine

from billing.constants import TERM_SOURCE
from billing.metering.meters import cap_meter, prove_meters, reprice_meter
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Wallet
from common.db.transactions import use_case
from tests.billing.lives import MODES, Life, Rows, Use, moment
from tests.billing.money import in_parallel
from tests.billing.oracle import HOUR, MINUTE, SECOND


def settle_each(now: int, _rng: random.Random) -> None:
    settle_meters(now=moment(now))


def settle_cut(now: int, rng: random.Random) -> None:
    for back in sorted((rng.randrange(110 * SECOND) for _ in range(2)), reverse=True):
        settle_meters(now=moment(now - back))


def settle_repeated(now: int, rng: random.Random) -> None:
    for _ in range(2):
        settle_meters(now=moment(now))
    settle_meters(now=moment(now - rng.randrange(2 * HOUR)))


def settle_by_eight(now: int, _rng: random.Random) -> None:
    results = in_parallel([lambda: settle_meters(now=moment(now))] * 8)
    failed = [result for result in results if isinstance(result, Exception)]
    assert not failed, failed


@dataclass
class World:
    """A batch of lives under one clock."""

    rng: random.Random
    lives: list[Life]
    settle_every: int
    settle: Callable[[int, random.Random], None]
    extend_every: int = 1
    now: int = 0
    number: int = 0

    def open_all(self) -> None:
        rows = Rows()
        with time_machine.travel(moment(0), tick=False):
            for place, life in enumerate(self.lives):
                mode = MODES[place % len(MODES)]
                for_real = mode == "upfront" or place % 35 == 0
                life.main = life.start(mode, 0, bulk=None if for_real else rows)
                if place % 4 == 0:
                    life.disk = life.start("disk", 0, bulk=None if for_real else rows)
            rows.write()

    def turn(self, step: int) -> None:
        """A round: time passes, hosts report, the sweeps run, a few renters do something."""
        self.now += step
        self.number += 1
        with time_machine.travel(moment(self.now), tick=False):
            self._prove()
            self._reprice()
            if self.number % self.extend_every == 0:
                self._extend()
            if self.number % self.settle_every == 0:
                self.settle(self.now, self.rng)
            self._act()

    def _prove(self) -> None:
        """Reports of three groups, none older than the round; a few hosts stay silent, some for long."""
        groups: list[dict[str, list[UUID]]] = [{}, {}, {}]
        moments = [self.now, self.now - self.rng.randrange(9 * SECOND), self.now - self.rng.randrange(SECOND)]
        for life in self.lives:
            use = life.main
            if use is None or use.leg.last.calendar:
                continue
            if life.sleeps_until > self.now:
                continue
            if self.rng.random() < 0.01:
                life.sleeps_until = self.now + self.rng.randrange(30 * SECOND, 20 * MINUTE)
                continue
            group = self.rng.randrange(3)
            groups[group].setdefault(use.source_kind, []).append(use.source_id)
            use.leg.prove(moments[group])
        for reported, at in zip(groups, moments, strict=True):
            for kind, ids in reported.items():
                with use_case():
                    prove_meters(source_kind=kind, source_ids=ids, at=moment(at))

    def _reprice(self) -> None:
        """Spot prices move: most seldom, some nearly each round, so that their meters go on as others."""
        with use_case():
            for life in self.lives:
                use = life.main
                if use is None or use.price.most is None or self.rng.random() >= (0.9 if life.moves_often else 0.04):
                    continue
                rate = life.rng.randrange(use.price.most + 1)
                use.leg.reprice(rate, self.now)
                at = moment(self.now)
                reprice_meter(source_kind=use.source_kind, source_id=use.source_id, rate_micros=rate, at=at)

    def _extend(self) -> None:
        for life in self.lives:
            life.purse.renew(self.now)
        extend_holds(now=moment(self.now))

    def _act(self) -> None:
        for life in self.lives:
            use = life.main
            if use is not None and use.closing_at is not None and self.now >= use.closing_at:
                self._finish(life, use)
            elif self.rng.random() < 0.004:
                self._something(life)

    def _something(self, life: Life) -> None:
        use = life.main
        if use is None:
            self._back(life)
        elif use.source_kind == TERM_SOURCE or self.rng.random() < 0.4:
            life.end(use, self.now)  # a conversion, or the early end of a term
            life.main = life.start(self.rng.choice(["hourly", "tiered", "term", "upfront"]), self.now)
        else:
            cap = self.now + self.rng.randrange(30 * SECOND)
            use.leg.stop(cap)
            use.closing_at = self.now + self.rng.randrange(3 * MINUTE)
            with use_case():
                cap_meter(source_kind=use.source_kind, source_id=use.source_id, at=moment(cap))

    def _finish(self, life: Life, use: Use) -> None:
        life.end(use, self.now)
        if life.kept is None and self.rng.random() < 0.5:
            life.kept = life.start("kept", self.now)

    def _back(self, life: Life) -> None:
        """It runs again, in the mode that it had or another; kept GPUs cost no fee then."""
        if life.kept is not None:
            life.end(life.kept, self.now)
        life.main = life.start(self.rng.choice(["tiered", "tiered", "hourly"]), self.now)

    # -- the verdict

    def settle_all(self) -> None:
        with time_machine.travel(moment(self.now), tick=False):
            settle_meters(now=moment(self.now))

    def disagreements(self) -> list[str]:
        """Every wallet whose balance or held money is not the oracle's, to the micro-unit."""
        wrong = []
        shares: dict[UUID, int] = {life.host_wallet: 0 for life in self.lives}
        fees = 0
        found = {wallet.pk: wallet for wallet in Wallet.objects.all()}
        for life in self.lives:
            posted, held = 0, 0
            for use in [*life.over, *life.uses]:
                for stretch in use.leg.stretches:
                    until = stretch.posted_until(self.now)
                    cost, fee = stretch.cost(until), stretch.fee(until)
                    shares[life.host_wallet] += cost - fee
                    fees += fee
                    if not use.leg.released and not use.leg.from_escrow:
                        posted += cost
                        held -= cost
                if not use.leg.released and not use.leg.from_escrow:
                    held += use.leg.paid_in
            shares[life.host_wallet] += life.host_extra
            fees += life.fee_extra
            wallet = found[life.renter_wallet]
            expected = life.purse.money - life.purse.gone - posted
            if (wallet.balance_micros, wallet.held_micros) != (expected, held):
                modes = [use.mode for use in [*life.over, *life.uses]]
                wrong.append(
                    f"{life.instance} {modes}: balance {wallet.balance_micros}, oracle {expected};"
                    f" held {wallet.held_micros}, oracle {held}"
                )
        wrong += [
            f"host {key}: {found[key].balance_micros}, oracle {share}"
            for key, share in shares.items()
            if found[key].balance_micros != share
        ]
        platform = next(wallet for wallet in found.values() if wallet.kind == "platform")
        if platform.balance_micros != fees:
            wrong.append(f"platform: {platform.balance_micros}, oracle {fees}")
        return wrong
