"""Trace of money that was taken back or never paid, through the ledger, micro-unit by micro-unit.

The ledger does not say which micro-unit of a wallet pays for what, so this module defines it: "taken back first". As
long as a wallet holds some of the money in question, whatever leaves it is that money, and what arrived first leaves
first (Clayton's rule: first in, first out, among the money in question). Nothing is created or lost: the money in
question lies in one place at a time, and the places never hold more of it than was taken back. This is the cautious
order for the market: no other order lets more of the money reach hosts.

    leaves(x) = min(x, lying)        lying' = lying − leaves(x) + arrives

Money that leaves the market is treated in the opposite way, or it would remove the money in question and leave a
clean wallet. A refund or a dispute takes first the money in question of its own payment, a repayment first that of
its own debtor, and then money that is not in question. Of the other money in question it takes only what the
remaining balance cannot hold.

    leaves(x) = own(x) + min(x − own(x), max(0, lying − own(x) − stays))

The part that is not its own has paid back somebody else's payment, which was spent before: that payment's money is in
question instead, wherever it has gone (`Traced.paid_back`).

Of a charge, the host's share counts first and the platform's fee last. What a host gives back to the payer is in
question again as far as it was before. A payout to the host does not end it: later earnings answer for it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Literal
from uuid import UUID

Place = tuple[Literal["wallet", "term", "debt"], UUID]
"""A renter's wallet, the prepaid money of a term, or somebody's debt."""

Earned = tuple[Place, UUID]
"""A host wallet's earnings from a place."""


@dataclass(frozen=True)
class Flow:
    """Money that leaves `source`; `arrives` of it reaches `target`, and nobody answers for the rest.

    Without a `target` it leaves the market: `of` names its payment or debtor, and `stays` is what is left at the
    source.
    """

    number: int  # number of the ledger's entry, by which flows are ordered
    source: Place | Earned
    target: Place | Earned | None
    micros: int
    arrives: int
    of: UUID | None = None
    stays: int = 0


@dataclass(frozen=True)
class TraceStart:
    """Appearance of money in question: `debtor` owes it, for a `payment` that was taken back."""

    number: int
    debtor: UUID
    target: Place | Earned
    micros: int
    payment: UUID | None = None


@dataclass(frozen=True)
class _Lot:
    debtor: UUID
    payment: UUID | None
    micros: int


@dataclass(frozen=True)
class TraceResult:
    """Places of the money by debtor, and payments that other money in question has paid back."""

    places: dict[Place | Earned, dict[UUID, int]]
    paid_back: dict[UUID, dict[UUID, int]]


Read = Callable[[Place, int, bool], Sequence[Flow]]
"""Reads a page of a place's flows after an entry, in order; for a place without money in question, only what returns
to it."""


class _Lots:
    """Money in question in one place, by debt, in order of arrival."""

    def __init__(self) -> None:
        self.lots: deque[_Lot] = deque()

    def put(self, lot: _Lot) -> None:
        if lot.micros > 0:
            self.lots.append(lot)

    def withdraw(self, micros: int, of: UUID | None = None) -> list[_Lot]:
        """Remove and return the first lots; with `of`, only those of this payment or debtor."""
        taken, kept = [], deque[_Lot]()
        for lot in self.lots:
            part = min(micros, lot.micros) if of is None or of in (lot.payment, lot.debtor) else 0
            micros -= part
            if part:
                taken.append(replace(lot, micros=part))
            if part < lot.micros:
                kept.append(replace(lot, micros=lot.micros - part))
        self.lots = kept
        return taken

    def withdraw_outflow(self, flow: Flow) -> list[_Lot]:
        """Remove what leaves the market and return the part that was not its own."""
        own = 0 if flow.of is None else sum(lot.micros for lot in self.withdraw(flow.micros, flow.of))
        lying = sum(lot.micros for lot in self.lots)
        return self.withdraw(min(flow.micros - own, max(0, lying - flow.stays)))

    def by_debtor(self) -> dict[UUID, int]:
        found: dict[UUID, int] = defaultdict(int)
        for lot in self.lots:
            found[lot.debtor] += lot.micros
        return dict(found)


class _Reader:
    """Flows of one place that have not been traced yet."""

    def __init__(self, place: Place, read: Read) -> None:
        self.place, self.read = place, read
        self.page: deque[Flow] = deque()
        self.only_returns = True

    def restart(self, after: int, *, only_returns: bool) -> None:
        self.only_returns = only_returns
        self.page = deque(self.read(self.place, after, only_returns))


def trace(starts: Iterable[TraceStart], read: Read) -> TraceResult:
    """Return where the money lies after everything in the ledger.

    The work is bounded: only places that the money reached are read, from the entry that brought it on.
    """
    return _Tracer(read).run(sorted(starts, key=lambda start: start.number))


class _Tracer:
    def __init__(self, read: Read) -> None:
        self.read = read
        self.places: dict[Place | Earned, _Lots] = defaultdict(_Lots)
        self.paid_back: dict[UUID, dict[UUID, int]] = defaultdict(lambda: defaultdict(int))
        self.readers: dict[Place, _Reader] = {}
        self.queue: list[tuple[int, str, Place]] = []  # the next flow of each reader; outdated ones are skipped

    def run(self, starts: Sequence[TraceStart]) -> TraceResult:
        for start in starts:
            self._go_on(until=start.number)
            self._put(start.target, start.number, [_Lot(start.debtor, start.payment, start.micros)])
        self._go_on(until=None)
        found = {place: lots.by_debtor() for place, lots in self.places.items()}
        return TraceResult({place: debts for place, debts in found.items() if debts}, self.paid_back)

    def _go_on(self, until: int | None) -> None:
        while self.queue and (until is None or self.queue[0][0] < until):
            number, _order, place = heappop(self.queue)
            reader = self.readers[place]
            if reader.page and reader.page[0].number == number:
                self._move(reader.page.popleft())
                if not reader.page:
                    reader.restart(number, only_returns=not self.places[place].lots)
                self._wait(reader)

    def _move(self, flow: Flow) -> None:
        if flow.target is None:
            for lot in self.places[flow.source].withdraw_outflow(flow):
                if flow.of is not None:
                    self.paid_back[flow.of][lot.debtor] += lot.micros
            return
        left, arriving = flow.arrives, []
        for lot in self.places[flow.source].withdraw(flow.micros):
            arriving.append(replace(lot, micros=min(left, lot.micros)))
            left -= arriving[-1].micros
        self._put(flow.target, flow.number, arriving)

    def _put(self, target: Place | Earned, number: int, lots: Sequence[_Lot]) -> None:
        if not any(lot.micros > 0 for lot in lots):
            return
        for lot in lots:
            self.places[target].put(lot)
        if isinstance(target[0], str):
            self._open(target, number)

    def _open(self, place: Place, number: int) -> None:
        reader = self.readers.setdefault(place, _Reader(place, self.read))
        if reader.only_returns:
            reader.restart(number, only_returns=False)
            self._wait(reader)

    def _wait(self, reader: _Reader) -> None:
        if reader.page:
            heappush(self.queue, (reader.page[0].number, str(reader.place[1]), reader.place))
