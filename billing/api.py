"""The API of a renter's own wallet."""

from typing import TYPE_CHECKING, Any, ClassVar, cast
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from billing.models import Entry
from billing.policy import INSTANCE_SOURCE
from billing.selectors import StatementLine, WalletView, entries_of, statement_of, wallet_of
from common import clock
from common.ids import public_id
from common.money import format_money

if TYPE_CHECKING:
    from accounts.models import User

_SOURCE_PREFIXES = {INSTANCE_SOURCE: "inst"}


class Money(serializers.CharField):
    """Micro-units as a decimal string."""

    def __init__(self, source: str, **options: Any) -> None:
        super().__init__(read_only=True, source=source, **options)

    def to_representation(self, value: Any) -> str:
        return format_money(value)


class WalletOut(serializers.Serializer[Any]):
    """The wallet now. Accrued use is paid out of what is held."""

    currency = serializers.SerializerMethodField()
    balance = Money("balance_micros", help_text="The sum of all entries")
    accrued = Money("accrued_micros", help_text="Used and proven, posted with the next hour")
    live_balance = Money("live_micros", help_text="The balance less what accrued")
    held = Money("held_micros", help_text="Set aside for running instances; pays what accrues")
    spendable = Money("spendable_micros", help_text="What a new rental may use")
    hourly_rate = Money("burn_micros_per_hour", help_text="Of all that runs now")
    runway_hours = serializers.FloatField(read_only=True, allow_null=True, help_text="null when nothing runs")

    def get_currency(self, wallet: WalletView) -> str:
        return str(settings.MARKET_CURRENCY)


class EntryOut(serializers.Serializer[Any]):
    """One line of the statement: what, when, how long, at which rate, and the posted balance after it."""

    id = serializers.CharField(read_only=True)
    at = serializers.DateTimeField(read_only=True)
    kind = serializers.CharField(read_only=True)
    what = serializers.CharField(read_only=True)
    source_kind = serializers.CharField(read_only=True)
    source_id = serializers.SerializerMethodField()
    period_from = serializers.DateTimeField(read_only=True, allow_null=True)
    period_to = serializers.DateTimeField(read_only=True, allow_null=True)
    seconds = serializers.FloatField(read_only=True, allow_null=True)
    hourly_rate = Money("rate_micros_per_hour", allow_null=True)
    amount = Money("amount_micros", help_text="Negative: a charge")
    balance_after = Money("balance_after_micros")

    def get_source_id(self, line: StatementLine) -> str:
        return public_id(_SOURCE_PREFIXES.get(line.source_kind, line.source_kind), line.source_id)


class WalletApi(APIView):
    """The renter's own wallet."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="wallet", responses=WalletOut)
    def get(self, request: Request) -> Response:
        return Response(WalletOut(wallet_of(owner_id=_asker(request), now=clock.now())).data)


class WalletEntriesApi(ListAPIView[Entry]):
    """The statement of the renter's own wallet, newest first."""

    scopes: ClassVar = {"GET": "billing:read"}
    serializer_class = EntryOut
    ordering = "-id"

    def get_queryset(self) -> QuerySet[Entry]:
        return entries_of(owner_id=_asker(self.request))

    @extend_schema(operation_id="wallet_entries", responses=EntryOut(many=True))
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(EntryOut(statement_of(page or []), many=True).data)


def _asker(request: Request) -> UUID:
    key: UUID = cast("User", request.user).pk  # HasScope has refused everyone else
    return key
