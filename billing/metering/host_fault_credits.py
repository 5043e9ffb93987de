"""Credits for host faults: reverses the charge of the last seconds of a run that its host ended."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final
from uuid import UUID

from django.db.models import F, Max, Q, Sum

from billing.constants import CREDITED_PER_DAY, CREDITED_SPAN, TERM_SOURCE
from billing.coupons.redemption import return_unused_draws
from billing.errors import StillMetered
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.wallets import open_wallet
from billing.metering.escrow import pass_on_credit
from billing.metering.usage import post_usage
from billing.models import Entry, Hold, Meter, Posting, Wallet
from billing.pricing.rates import charge, split_charge, stretches
from common import clock

SourceKey = tuple[str, UUID]  # kind and id of what is charged
_NONE: Final[Mapping[UUID, UUID]] = MappingProxyType({})


@dataclass(frozen=True)
class _Piece:
    """Settled part of a meter's time that is credited."""

    meter: Meter
    begin: datetime
    end: datetime

    @property
    def source(self) -> SourceKey:
        return self.meter.source_kind, self.meter.source_id

    @property
    def cut(self) -> tuple[int, int]:
        """Return its begin and end in microseconds of continuous use."""
        return self.meter.used_us(self.begin), self.meter.used_us(self.end)

    @property
    def rate_micros(self) -> int:
        return self.meter.tariff.rate_at(self.cut[0])

    @property
    def charge_micros(self) -> int:
        return charge(self.meter.tariff, *self.cut)

    def movements(self, platform_id: UUID) -> list[Movement]:
        """Return the usage's entries reversed: each wallet returns exactly what it got for these seconds."""
        fee, share = split_charge(self.meter.tariff, self.meter.fee_bps, self.cut)
        return [
            Movement(self.meter.payer_id, Entry.Kind.REFUND, fee + share),
            Movement(self.meter.payee_id, Entry.Kind.HOST_SHARE, -share),
            Movement(platform_id, Entry.Kind.PLATFORM_FEE, -fee),
        ]


def credit_source(
    *, source_kind: str, source_id: UUID, key: str, since: datetime, until: datetime, reason: str, actor: str
) -> int:
    """Credit the end of a run that one source was charged for, as `credit_run` does."""
    return credit_run(sources=[(source_kind, source_id)], key=key, since=since, until=until, reason=reason, actor=actor)


def credit_run(
    *,
    sources: Sequence[SourceKey],
    key: str,
    since: datetime,
    until: datetime,
    reason: str,
    actor: str,
    ended_terms: Mapping[UUID, UUID] = _NONE,
) -> int:
    """Credit what the last CREDITED_SPAN of a run from `since` to `until` was charged; return the micro-units.

    Each of `sources` is credited with exactly what it was charged within that span. The credit goes to who paid, which for
    a prepaid term is the market's escrow; `ended_terms` maps those of them that are over, and so are not settled again,
    to their renters, who get it at once. CREDITED_PER_DAY bounds what a host and a renter can agree to report; `key` is
    <kind>:<id>:<run>, and all keys with the same <kind>:<id> share that bound. Runs inside the caller's transaction, after
    the meters were closed. What the run owes is charged first. Repeating the same key changes nothing.

    Raises:
        StillMetered: a meter is open.
    """
    platform_id = open_wallet(owner_id=None, kind=Wallet.Kind.PLATFORM).pk
    meters = Meter.objects.filter(_of(sources), opened_at__lt=until, proven_until__gt=since)
    wallets = {wallet for pair in meters.values_list("payer_id", "payee_id") for wallet in pair}
    lock_wallets([*wallets, *(open_wallet(owner_id=renter_id).pk for renter_id in ended_terms.values()), platform_id])
    if Posting.objects.filter(idempotency_key=_key(key, 0)).exists():
        return 0
    since = max(since, _credited_until(sources, since, until))
    run = list(meters.order_by("-opened_at"))
    if any(meter.closed_at is None for meter in run):
        raise StillMetered("The cost of this run is only known once its meter is closed.")
    post_usage(meter_ids=[meter.pk for meter in run], at=clock.now())
    newest_first = list(meters.order_by("-opened_at"))
    left = min(CREDITED_SPAN, CREDITED_PER_DAY - _of_the_last_day(sources, key))
    pieces = [piece for piece in _last(newest_first, since, until, left) if piece.charge_micros > 0]
    for number, piece in enumerate(pieces):
        _post_credit(piece, _key(key, number), reason, actor)
        if piece.source[0] == TERM_SOURCE and piece.source[1] in ended_terms:
            pass_on_credit(
                renter_id=ended_terms[piece.source[1]],
                term_id=piece.source[1],
                amount_micros=piece.charge_micros,
                key=_key(key, number),
                memo=f"{piece.meter.label}: {reason}",
            )
    _return_draws({piece.source for piece in pieces})
    return sum(piece.charge_micros for piece in pieces)


def _post_credit(piece: _Piece, key: str, reason: str, actor: str) -> None:
    platform_id = open_wallet(owner_id=None, kind=Wallet.Kind.PLATFORM).pk
    post(
        key=key,
        kind=Posting.Kind.CREDIT,
        source_kind=piece.source[0],
        source_id=piece.source[1],
        memo=f"{piece.meter.label}: {reason}"[:200],
        actor=actor,
        movements=piece.movements(platform_id),
        at=clock.now(),
        period=(piece.begin, piece.end),
        rate_micros_per_hour=piece.rate_micros,
    )


def _return_draws(sources: Collection[SourceKey]) -> None:
    """Return to coupons what they paid of the credit; of a source that holds money again, when that hold is released."""
    held = set(Hold.objects.filter(_of(sources), released_at=None).values_list("source_kind", "source_id"))
    for source_kind, source_id in sorted(set(sources) - held):
        return_unused_draws(source_kind=source_kind, source_id=source_id)


def _of(sources: Collection[SourceKey]) -> Q:
    chosen = Q()
    for source_kind, source_id in sources:
        chosen |= Q(source_kind=source_kind, source_id=source_id)
    return chosen


def _credited_until(sources: Sequence[SourceKey], since: datetime, until: datetime) -> datetime:
    """Return where the credited part of this time ends, so that simultaneous faults are credited once."""
    own = Posting.objects.filter(_of(sources), kind=Posting.Kind.CREDIT)
    ends: datetime | None = own.filter(period_from__lt=until, period_to__gt=since).aggregate(ends=Max("period_to"))["ends"]
    return since if ends is None else ends


def _of_the_last_day(sources: Sequence[SourceKey], key: str) -> timedelta:
    subject, _, _run = key.rpartition(":")
    own = _of(sources)
    if subject:
        own |= Q(idempotency_key__startswith=f"{_key(subject, 0)}:")
    recent = Posting.objects.filter(own, kind=Posting.Kind.CREDIT).filter(created_at__gt=clock.now() - timedelta(hours=24))
    span: timedelta | None = recent.aggregate(span=Sum(F("period_to") - F("period_from")))["span"]
    return span or timedelta(0)


def _last(newest_first: Sequence[Meter], since: datetime, until: datetime, left: timedelta) -> Iterator[_Piece]:
    """Yield the last `left` of settled time before `until`, without gaps in the proof and nothing before `since`."""
    for meter in newest_first:
        end = min(meter.settled_until, until)
        begin = max(meter.opened_at, since, end - left)
        if begin < end and left > timedelta(0):
            left -= end - begin
            for from_us, to_us in stretches(meter.tariff, meter.used_us(begin), meter.used_us(end)):
                yield _Piece(meter, meter.moment(from_us), meter.moment(to_us))


def _key(key: str, number: int) -> str:
    return f"credit:{key}" if number == 0 else f"credit:{key}:{number}"
