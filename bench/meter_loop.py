"""Settlement as a first version would do it: one ORM transaction per meter."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F

from billing.models import Entry, Hold, Meter, Posting, Usage, Wallet
from billing.pricing.rates import split_charge
from common import clock

_HOUR = timedelta(hours=1)


def settle_each(meter_ids: Sequence[UUID]) -> None:
    for meter_id in meter_ids:
        _settle_hour(meter_id)


@transaction.atomic
def _settle_hour(meter_id: UUID) -> None:
    """Settle the next whole hour of one meter; same rows as the settlement, but with its own posting."""
    meter = Meter.objects.get(pk=meter_id)
    platform = Wallet.objects.get(kind=Wallet.Kind.PLATFORM)
    begins, ends = meter.settled_until, meter.settled_until + _HOUR
    fee, share = split_charge(meter.tariff, meter.fee_bps, (meter.used_us(begins), meter.used_us(ends)))
    sides = [
        (meter.payer_id, Entry.Kind.CHARGE, -fee - share),
        (meter.payee_id, Entry.Kind.HOST_SHARE, share),
        (platform.pk, Entry.Kind.PLATFORM_FEE, fee),
    ]
    wallets = [wallet_id for wallet_id, _, _ in sides]
    list(Wallet.objects.filter(pk__in=wallets).order_by("pk").select_for_update(no_key=True))
    posting = Posting.objects.create(
        idempotency_key=f"loop:{meter.pk}:{begins.isoformat()}",
        kind=Posting.Kind.USAGE,
        source_kind=meter.source_kind,
        source_id=meter.source_id,
        memo="",
        actor="bench",
        created_at=clock.now(),
    )
    paid, earned, _ = Entry.objects.bulk_create(
        Entry(posting=posting, wallet_id=wallet_id, kind=kind, amount_micros=amount) for wallet_id, kind, amount in sides
    )
    Usage.objects.create(
        posting=posting,
        charge_entry=paid,
        share_entry=earned,
        meter=meter,
        period_from=begins,
        period_to=ends,
        rate_micros=meter.rate_micros,
        charge_micros=fee + share,
        fee_micros=fee,
    )
    Hold.objects.filter(source_kind=meter.source_kind, source_id=meter.source_id, released_at__isnull=True).update(
        amount_micros=F("amount_micros") - fee - share
    )
    for wallet_id, _kind, amount in sides:
        Wallet.objects.filter(pk=wallet_id).update(balance_micros=F("balance_micros") + amount)
    Wallet.objects.filter(pk=meter.payer_id).update(held_micros=F("held_micros") - fee - share)
