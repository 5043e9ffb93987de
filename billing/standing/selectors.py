"""Reads of wallet standings, and of what people were told about them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from django.db.models import Max

from billing.ledger.selectors import WalletView, wallet_of
from billing.models import Notice, Standing
from billing.states import StandingState


@dataclass(frozen=True)
class StandingView:
    """Standing of a renter's wallet.

    `next_state_at` is when the money ends (low) or when the first data is deleted (exhausted).
    """

    state: str = StandingState.GOOD.value
    since: datetime | None = None
    next_state_at: datetime | None = None


@dataclass(frozen=True)
class WalletNow(WalletView):
    """A wallet with its standing."""

    standing: StandingView = StandingView()


def wallet_now(*, owner_id: UUID, now: datetime) -> WalletNow:
    wallet = wallet_of(owner_id=owner_id, now=now)
    figures = {column.name: getattr(wallet, column.name) for column in fields(WalletView)}
    return WalletNow(**figures, standing=standing_of(owner_id=owner_id))


def standing_of(*, owner_id: UUID) -> StandingView:
    """Return the standing found by the last pass of the sweep; good for a wallet that was never evaluated."""
    row = Standing.objects.filter(wallet__owner_id=owner_id, wallet__kind="renter").first()
    return StandingView() if row is None else StandingView(row.state, row.since, row.next_state_at)


def announced_releases(instance_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """Return the latest announced date of deletion for each instance; others are left out."""
    notices = Notice.objects.filter(kind=Notice.Kind.RELEASE, subject_id__in=instance_ids)
    return dict(notices.order_by().values_list("subject_id").annotate(Max("ends_at")))
