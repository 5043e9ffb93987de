"""What must be charged, in exact fractions: written from the rules in docs/money.md, without any code of the services.

Moments and lengths are whole microseconds since the start of a test, money is whole micro-units.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
BRIDGE = 120 * SECOND
LEAD = 60 * SECOND
LONGEST = 36_500 * 24 * HOUR
FEE = Fraction(1, 10)
EARLY_END = Fraction(105, 100)
PRICES_OF_A_METER = 32


def half_up(value: Fraction) -> int:
    """Rounded to whole micro-units, halves up."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


@dataclass(frozen=True)
class Price:
    """`marks`: (from so many microseconds of continuous use, micro-units per `hours` hours), the first from 0."""

    marks: tuple[tuple[int, int], ...]
    hours: int = 1
    most: int | None = None

    def exact(self, used: int) -> Fraction:
        """What so much continuous use costs: each stretch between two marks at its own rate."""
        ends = [*(begin for begin, _ in self.marks[1:]), None]
        total = 0
        for (begin, rate), end in zip(self.marks, ends, strict=True):
            total += rate * max(0, (used if end is None else min(used, end)) - begin)
        return Fraction(total, self.hours * HOUR)

    def rounded(self, used: int) -> int:
        return half_up(self.exact(used))

    def rate_after(self, used: int) -> int:
        return [rate for begin, rate in self.marks if begin <= used][-1]

    @property
    def dearest(self) -> "Price":
        """Where the rate moves, money is held as if it were the most."""
        return self if self.most is None else Price(((0, self.most),), self.hours)

    def first_hour(self) -> int:
        """The least whole money that pays for the first hour."""
        return -floor(-self.dearest.exact(HOUR))

    def lasts(self, money: int, used: int) -> int:
        """The longest further use that costs no more than `money`, after use whose price was rounded."""
        price, used = (self, used) if self.most is None else (self.dearest, 0)
        most = money + price.rounded(used)
        if len(price.marks) == 1:
            rate = price.marks[0][1]
            return LONGEST if rate == 0 else max(0, min(LONGEST, most * price.hours * HOUR // rate - used))
        shortest, longest = 0, LONGEST
        while shortest < longest:
            middle = (shortest + longest + 1) // 2
            if price.exact(used + middle) <= most:
                shortest = middle
            else:
                longest = middle - 1
        return shortest


@dataclass
class Stretch:
    """Use without a gap: charged is [opened, the earliest of proof, money and cap)."""

    price: Price
    opened: int
    proven: int
    funded: int
    calendar: bool
    base: int = 0
    cap: int | None = None
    closed: bool = False

    def end(self, now: int) -> int:
        end = now if self.calendar and not self.closed else self.proven
        return max(self.opened, min(end, self.funded, *(() if self.cap is None else (self.cap,))))

    def used(self, moment: int) -> int:
        """Continuous use up to then."""
        return self.base + moment - self.opened

    def cost(self, until: int) -> int:
        return self.price.rounded(self.used(until)) - self.price.rounded(self.base)

    def fee(self, until: int) -> int:
        """The platform's part of rounded sums, itself rounded: a difference as the charge is one."""
        before, after = self.price.rounded(self.base), self.price.rounded(self.used(until))
        return half_up(after * FEE) - half_up(before * FEE)

    def posted_until(self, now: int) -> int:
        """An open stretch is posted in whole hours since it was opened, a closed one to its end."""
        end = self.end(now)
        return end if self.closed else self.opened + (end - self.opened) // HOUR * HOUR


@dataclass
class Leg:
    """One source's use under one hold. `paid_in`: all that was ever set aside for it."""

    paid_in: int
    from_escrow: bool = False
    stretches: list[Stretch] = field(default_factory=list)
    released: bool = False

    @property
    def last(self) -> Stretch:
        return self.stretches[-1]

    def owed(self, now: int) -> int:
        return sum(stretch.cost(stretch.end(now)) for stretch in self.stretches)

    def begin(
        self,
        *,
        now: int,
        price: Price,
        calendar: bool = False,
        base: int = 0,
        cap: int | None = None,
        money: int | None = None,
    ) -> None:
        lasts = price.lasts(self.paid_in if money is None else max(0, money), base)
        self.stretches.append(Stretch(price, now, now, now + lasts, calendar, base, cap))

    def prove(self, moment: int) -> None:
        """Two proofs at most the bridge apart prove what is between them; after a longer gap another stretch begins."""
        last = self.last
        if self.released or last.calendar:
            return
        if moment - last.proven > BRIDGE:
            left = self.paid_in - self.owed(moment)
            base = last.used(last.proven) if len(last.price.marks) > 1 else 0  # an outage is no break of the renter's
            last.closed = True
            self.begin(now=moment, price=last.price, base=base, cap=last.cap, money=left)
        else:
            last.proven = max(last.proven, moment)

    def reprice(self, rate: int, now: int) -> None:
        """From now on it costs another rate."""
        last, used = self.last, self.last.used(max(now, self.last.opened))
        if last.price.rate_after(used) == rate:
            return
        if len(last.price.marks) > PRICES_OF_A_METER:  # a meter of so many prices goes on as another one, at its last proof
            present = last.price.rate_after(last.used(last.proven))
            marks = ((0, present), (now - last.proven, rate)) if now > last.proven else ((0, rate),)
            price = Price(marks, last.price.hours, last.price.most)
            left = self.paid_in - self.owed(last.proven)
            last.closed = True
            self.begin(now=last.proven, price=price, cap=last.cap, money=left)
            return
        kept = tuple(mark for mark in last.price.marks if mark[0] < used or mark[0] == 0)
        last.price = Price((*kept, (used, rate)), last.price.hours, last.price.most)

    def stop(self, cap: int) -> None:
        self.last.cap = cap if self.last.cap is None else min(self.last.cap, cap)

    def close(self, now: int) -> int:
        """Over: what it cost in all."""
        last = self.last
        if last.calendar:
            last.proven = max(last.opened, now)
        last.closed = self.released = True
        return self.owed(now)

    def missing(self, until: int, now: int) -> int:
        """What its money lacks to pay up to `until`; a rate that moves is known up to now and the most from there on."""
        last = self.last
        before = sum(stretch.cost(stretch.end(now)) for stretch in self.stretches[:-1])
        if last.price.most is None:
            return before + last.cost(until) - self.paid_in
        known = min(until, max(last.opened, now - LEAD))
        rest = half_up(last.price.dearest.exact(until - known)) + 1
        return before + last.cost(known) + rest - self.paid_in


@dataclass
class Purse:
    """A renter's money. `gone` is what has left it for good, or into escrow."""

    money: int
    gone: int = 0
    legs: list[Leg] = field(default_factory=list)

    @property
    def spendable(self) -> int:
        return self.money - self.gone - sum(leg.paid_in for leg in self.legs if not leg.released and not leg.from_escrow)

    def renew(self, now: int) -> None:
        """A minute before an hour's money is used up another hour's is set aside: who runs out first is served first.

        Nothing is set aside for what is silent: beyond the bridge after its last proof it can cost nothing.
        """
        ending = [leg for leg in self.legs if self._runs_out(leg, now)]
        for leg in sorted(ending, key=lambda leg: leg.last.funded):
            last = leg.last
            wanted = (self._needed(last, now) - last.funded) // HOUR + 1
            hours = next((h for h in range(wanted, 0, -1) if leg.missing(last.funded + h * HOUR, now) <= self.spendable), 0)
            if hours:
                until = last.funded + hours * HOUR
                leg.paid_in += max(0, leg.missing(until, now))
                last.funded = until
            else:
                left = -leg.missing(last.funded, now) - (0 if last.price.most is None else 1)
                if left > 0:
                    last.funded += last.price.lasts(left, last.used(last.funded))

    @staticmethod
    def _needed(last: Stretch, now: int) -> int:
        return now + LEAD if last.calendar else min(now, last.proven + BRIDGE) + LEAD

    def _runs_out(self, leg: Leg, now: int) -> bool:
        last = leg.last
        if leg.released or leg.from_escrow or last.closed or last.funded > self._needed(last, now):
            return False
        return last.cap is None or (last.calendar and last.cap > last.funded)


def early_end(charged: int, rate: int, list_rate: int, whole: int) -> int:
    """A term that ends early: its use at the undiscounted rate and 5 % more, never more than the whole term."""
    anew = half_up(Fraction(charged * list_rate, rate) * EARLY_END)
    return max(charged, min(anew, whole))


def early_end_split(extra: int, deposit: int, spendable: int) -> tuple[int, int]:
    """What an early end costs beyond its use: paid at once out of deposit and wallet, and owed."""
    paid = min(extra, deposit + spendable)
    return paid, extra - paid


def deposit(rate: int, whole: int) -> int:
    """Of a term without prepayment: 72 hours at the discounted rate, never more than the whole term."""
    return min(72 * rate, whole)
