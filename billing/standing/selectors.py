"""Reads of how wallets stand, and of what people were told about it."""

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
    """How a renter's wallet stands. `next_state_at`: low, when the money ends; exhausted, when the first data goes."""

    state: str = StandingState.GOOD.value
    since: datetime | None = None
    next_state_at: datetime | None = None


@dataclass(frozen=True)
class WalletNow(WalletView):
    """A wallet, and how it stands."""

    standing: StandingView = StandingView()


def wallet_now(*, owner_id: UUID, now: datetime) -> WalletNow:
    wallet = wallet_of(owner_id=owner_id, now=now)
    figures = {column.name: getattr(wallet, column.name) for column in fields(WalletView)}
    return WalletNow(**figures, standing=standing_of(owner_id=owner_id))


def standing_of(*, owner_id: UUID) -> StandingView:
    """As the last pass of the sweep has judged it; good for who was never judged."""
    row = Standing.objects.filter(wallet__owner_id=owner_id, wallet__kind="renter").first()
    return StandingView() if row is None else StandingView(row.state, row.since, row.next_state_at)


def announced_releases(instance_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """The latest date that the renter of each was told for the end of its data; who was told none is left out."""
    told = Notice.objects.filter(kind=Notice.Kind.RELEASE, subject_id__in=instance_ids)
    return dict(told.order_by().values_list("subject_id").annotate(Max("ends_at")))
