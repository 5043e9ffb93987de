"""API of a renter's own wallet."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from billing.ledger.selectors import WalletView
from billing.standing.selectors import wallet_now
from billing.statements.selectors import StatementLine
from billing.states import StandingState
from billing.web.source_ids import source_public_id
from billing.web.statements.request_parsing import StatementIn, statement_page
from common import clock
from common.http.views import Money


class StandingOut(serializers.Serializer[Any]):
    """Standing of the wallet, evaluated every minute."""

    state = serializers.ChoiceField(choices=StandingState.choices, read_only=True)
    since = serializers.DateTimeField(read_only=True, allow_null=True, help_text="null if always in good standing")
    next_state_at = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="low: when funds run out at the current rate; exhausted: when the first data is deleted; otherwise null",
    )


class WalletOut(serializers.Serializer[Any]):
    """The wallet; accrued usage is paid from held funds."""

    currency = serializers.SerializerMethodField()
    balance = Money("balance_micros", help_text="The sum of all entries")
    accrued = Money("accrued_micros", help_text="Confirmed usage, posted at the next full hour")
    live_balance = Money("live_micros", help_text="The balance minus accrued usage")
    held = Money("held_micros", help_text="On hold for running instances; covers accrued usage")
    spendable = Money("spendable_micros", help_text="Available for a new rental")
    hourly_rate = Money("burn_micros_per_hour", help_text="For everything that is running now")
    runway_hours = serializers.FloatField(read_only=True, allow_null=True, help_text="null when nothing runs")

    standing = StandingOut(read_only=True)

    def get_currency(self, wallet: WalletView) -> str:
        return str(settings.MARKET_CURRENCY)


class EntryOut(serializers.Serializer[Any]):
    """One entry of the statement: what, when, how long, at which rate, and the balance after it."""

    id = serializers.CharField(read_only=True)
    at = serializers.DateTimeField(read_only=True)
    kind = serializers.CharField(read_only=True)
    what = serializers.CharField(read_only=True)
    source_kind = serializers.CharField(read_only=True)
    source_id = serializers.SerializerMethodField()
    period_from = serializers.DateTimeField(read_only=True, allow_null=True)
    period_to = serializers.DateTimeField(read_only=True, allow_null=True)
    seconds = serializers.FloatField(read_only=True, allow_null=True)
    hourly_rate = Money("rate_micros_per_hour", allow_null=True, help_text="Set if the rate is hourly")
    rate = Money("rate_micros", allow_null=True, help_text="Per `unit`")
    unit = serializers.CharField(read_only=True, help_text="`hour`, `day`, or empty without a rate")
    mode = serializers.CharField(read_only=True, help_text="The billing mode, for usage")
    amount = Money("amount_micros", help_text="Negative: a charge")
    balance_after = Money("balance_after_micros")

    def get_source_id(self, line: StatementLine) -> str:
        return source_public_id(line.source_kind, line.source_id)


class EntriesOut(serializers.Serializer[Any]):
    """A page of the statement."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True, help_text="Always null: pages start with the newest entry")
    results = EntryOut(many=True)


class WalletApi(APIView):
    """Return your wallet."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="wallet", responses=WalletOut)
    def get(self, request: Request) -> Response:
        return Response(WalletOut(wallet_now(owner_id=current_user(request).pk, now=clock.now())).data)


class WalletEntriesApi(APIView):
    """List the statement of your wallet, newest first."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="wallet_entries", parameters=[StatementIn], responses=EntriesOut)
    def get(self, request: Request) -> Response:
        page = statement_page(current_user(request).pk, request.query_params)
        link = request.build_absolute_uri
        following = page.next_cursor and replace_query_param(link(), "cursor", page.next_cursor)
        return Response({"next": following or None, "previous": None, "results": EntryOut(page.lines, many=True).data})
