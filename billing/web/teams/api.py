"""API of a team's money: members' spending, and transfers between them."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from billing.calendar_months import month_span
from billing.transfers.selectors import MemberSpending, Transfer, team_spending
from billing.transfers.services import transfer_money
from common.http.fields import AmountText, NameText
from common.http.views import Money, validated
from common.ids import parse_public_id, public_id
from common.money import parse_money


class MonthIn(serializers.Serializer[Any]):
    """Month to report."""

    month = serializers.RegexField(
        r"^2[0-9]{3}-(0[1-9]|1[0-2])$",
        required=False,
        default="",
        help_text="For example 2026-11; default: the current month",
    )


class SpendingOut(serializers.Serializer[Any]):
    """What one member spent in the month."""

    user_id = serializers.SerializerMethodField()
    email = serializers.EmailField(source="member.email", read_only=True)
    spent = Money("micros", help_text="Refunds are subtracted; hours count when they are charged")

    def get_user_id(self, row: MemberSpending) -> str:
        assert row.member.user_id is not None  # only members are listed
        return public_id("user", row.member.user_id)


class TransferIn(serializers.Serializer[Any]):
    """Money to transfer to a member."""

    to = serializers.CharField(max_length=60, help_text="user_… of the team")
    amount = AmountText(help_text="A decimal string, such as 12.50")
    memo = NameText(max_length=80, required=False, default="", allow_blank=True)


class TransferOut(serializers.Serializer[Any]):
    """A transfer, shown as an entry on both statements."""

    id = serializers.SerializerMethodField()
    amount = Money("amount_micros")
    what = serializers.CharField(read_only=True)
    at = serializers.DateTimeField(read_only=True)

    def get_id(self, transfer: Transfer) -> str:
        return public_id("transfer", transfer.id)


class TeamSpendingApi(APIView):
    """List the spending of all members as an owner, or your own as a member."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="teams_spending", parameters=[MonthIn], responses=SpendingOut(many=True))
    def get(self, request: Request, team_id: str) -> Response:
        since, until = month_span(validated(MonthIn, request.query_params)["month"])
        found = team_spending(current_user(request), parse_public_id("team", team_id), since=since, until=until)
        return Response(SpendingOut(found, many=True).data)


class TeamTransfersApi(APIView):
    """Transfer money to a member of the same team."""

    scopes: ClassVar = {"POST": "billing:write"}

    @extend_schema(operation_id="teams_transfer", request=TransferIn, responses={201: TransferOut})
    def post(self, request: Request, team_id: str) -> Response:
        data = validated(TransferIn, request.data)
        ids = {"team_id": parse_public_id("team", team_id), "to_id": parse_public_id("user", data["to"])}
        micros = parse_money(data["amount"])

        def work() -> tuple[int, Any]:
            done = transfer_money(sender=current_user(request), **ids, amount_micros=micros, memo=data["memo"])
            return 201, TransferOut(done).data

        return idempotent_response(request, work)
