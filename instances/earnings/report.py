"""A host owner's earnings by day, month, GPU, instance, offer and host, from one read of the ledger."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar
from uuid import UUID

from billing.payouts.earned_intervals import EarnedPiece, earned_pieces
from instances.earnings.allocation import EarningsSum, split_equally
from instances.earnings.selectors import ChargeOrigin, origins_of
from marketplace.leasing.selectors import LeaseSpan, lease_spans

K = TypeVar("K", bound=Hashable)

# Sources that are charged beside the GPUs, not for them.
_WITHOUT_GPUS = ("disk", "retention", "volume", "snapshot")


@dataclass(frozen=True)
class GpuKey:
    """The GPU that an amount is assigned to.

    The UUID is empty for what a host charges beside its GPUs.
    """

    host_id: UUID | None
    gpu_uuid: str = ""
    gpu_model: str = ""


@dataclass(frozen=True)
class LocatedCharge:
    """One charge, the instance or storage it arose from, and the GPUs that were leased then."""

    piece: EarnedPiece
    place: ChargeOrigin | None
    gpus: tuple[LeaseSpan, ...]

    @property
    def host_id(self) -> UUID | None:
        return self.place.host_id if self.place else None


@dataclass(frozen=True)
class Report:
    """Earnings of one period.

    Every sum is exact, and the sums of each grouping add up to the same total.
    """

    pieces: Sequence[LocatedCharge]

    def total(self) -> EarningsSum:
        return self._by(lambda located: "").get("", EarningsSum())

    def by_day(self) -> dict[date, EarningsSum]:
        return self._by(lambda located: located.piece.day)

    def by_month(self) -> dict[date, EarningsSum]:
        return self._by(lambda located: located.piece.day.replace(day=1))

    def by_host(self) -> dict[UUID | None, EarningsSum]:
        return self._by(lambda located: located.host_id)

    def by_offer(self) -> dict[UUID | None, EarningsSum]:
        return self._by(lambda located: located.place.offer_id if located.place else None)

    def by_instance(self) -> dict[UUID | None, EarningsSum]:
        return self._by(lambda located: located.place.instance_id if located.place else None)

    def by_gpu(self) -> dict[GpuKey, EarningsSum]:
        """Return the sums of each GPU.

        Each charge is divided by itself, so a period's sums are the sums of its days.
        """
        sums: dict[GpuKey, EarningsSum] = defaultdict(EarningsSum)
        for located in self.pieces:
            for key, charge, fee, seconds in _gpu_parts(located):
                sums[key].add(charge, fee, seconds)
        return dict(sums)

    def given_back(self) -> list[LocatedCharge]:
        """Return the refunds with their reasons, newest first."""
        lines = [located for located in self.pieces if located.piece.charge_micros < 0]
        return sorted(lines, key=lambda located: located.piece.day, reverse=True)

    def _by(self, key: Callable[[LocatedCharge], K]) -> dict[K, EarningsSum]:
        sums: dict[K, EarningsSum] = defaultdict(EarningsSum)
        for located in self.pieces:
            piece = located.piece
            gpu_seconds = piece.seconds * len(located.gpus)
            sums[key(located)].add(piece.charge_micros * piece.count, piece.fee_micros * piece.count, gpu_seconds)
        return dict(sums)


def earnings_report(*, owner_id: UUID, since: date, until: date, host_id: UUID | None = None) -> Report:
    """Report what the owner earned from `since` to `until`, both included (UTC), on one host or all."""
    begin, end = (datetime.combine(day, time(), tzinfo=UTC) for day in (since, until + timedelta(days=1)))
    pieces = earned_pieces(owner_id=owner_id, since=begin, until=end)
    places = origins_of(sorted({piece.source_id for piece in pieces}))
    holders = _by_holder(lease_spans(sorted({place.instance_id for place in places.values() if place.instance_id})))
    located = [_located(piece, places.get(piece.source_id), holders) for piece in pieces]
    return Report([each for each in located if host_id is None or each.host_id == host_id])


def _by_holder(spans: Sequence[LeaseSpan]) -> dict[UUID, list[LeaseSpan]]:
    found: dict[UUID, list[LeaseSpan]] = defaultdict(list)
    for span in spans:
        found[span.holder].append(span)
    return found


def _located(piece: EarnedPiece, place: ChargeOrigin | None, holders: dict[UUID, list[LeaseSpan]]) -> LocatedCharge:
    if place is None or place.instance_id is None or piece.source_kind in _WITHOUT_GPUS:
        return LocatedCharge(piece, place, ())
    return LocatedCharge(piece, place, _held_at(holders.get(place.instance_id, ()), piece.at))


def _held_at(spans: Sequence[LeaseSpan], at: datetime) -> tuple[LeaseSpan, ...]:
    """Return the leases at that moment.

    A charge may lie outside every lease by a tiny difference of clocks; it then belongs to the nearest ones.
    """
    held = tuple(span for span in spans if span.leased_at <= at and (span.released_at is None or at < span.released_at))
    if held or not spans:
        return held
    nearest = min(spans, key=lambda span: abs(span.leased_at - at))
    return tuple(span for span in spans if span.leased_at == nearest.leased_at)


def _gpu_parts(located: LocatedCharge) -> Iterator[tuple[GpuKey, int, int, float]]:
    piece, gpus = located.piece, located.gpus
    if not gpus:
        yield GpuKey(located.host_id), piece.charge_micros * piece.count, piece.fee_micros * piece.count, 0.0
        return
    charges, fees = split_equally(piece.charge_micros, len(gpus)), split_equally(piece.fee_micros, len(gpus))
    for span, charge, fee in zip(gpus, charges, fees, strict=True):
        yield GpuKey(span.host_id, span.gpu_uuid, span.gpu_model), charge * piece.count, fee * piece.count, piece.seconds
