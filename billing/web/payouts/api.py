"""API of a host owner's payouts: payable amount, payouts, and payout account."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user, require_confirmation
from billing.models.payout_destinations import parse_destination
from billing.payouts.accounts import save_payout_account
from billing.payouts.payouts import request_payout
from billing.payouts.selectors import payable_of, payout_account_of, payout_of, payouts_of
from billing.payouts.stripe_connect import start_onboarding
from billing.web.payouts import serializers
from common import clock
from common.errors import NotFound
from common.http.pagination import CursorPagination
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.ids import parse_public_id
from common.money import parse_money

_FIRST_MINIMUM = "10.00"
_NONE_YET = OpenApiResponse(description="No payout account was added yet")


class PayoutsApi(APIView):
    """List your payouts, or request one."""

    scopes: ClassVar = {"GET": "billing:read", "POST": "billing:write"}
    ordering = ("-created_at", "-id")

    @extend_schema(operation_id="payouts_list", responses=serializers.PayoutPage)
    def get(self, request: Request) -> Response:
        pages = CursorPagination()
        rows = pages.paginate_queryset(payouts_of(current_user(request).pk), request, self)
        return pages.get_paginated_response([serializers.payout_resource(row, settings.MARKET_CURRENCY) for row in rows])

    @extend_schema(
        operation_id="payouts_create", request=serializers.PayoutIn, responses={201: schema_of(serializers.PayoutOut)}
    )
    def post(self, request: Request) -> Response:
        wanted = validated(serializers.PayoutIn, request.data).get("amount")
        amount = None if wanted is None else parse_money(wanted)
        owner_id = current_user(request).pk

        def work() -> tuple[int, Any]:
            payout = request_payout(owner_id=owner_id, requested_by=f"user:{owner_id.hex}", amount_micros=amount)
            return 201, serializers.payout_resource(payout, settings.MARKET_CURRENCY)

        return idempotent_response(request, work)


class PayoutApi(APIView):
    """Return one of your payouts."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="payouts_retrieve", responses=schema_of(serializers.PayoutOut))
    def get(self, request: Request, payout_id: str) -> Response:
        payout = payout_of(owner_id=current_user(request).pk, payout_id=parse_public_id("payout", payout_id))
        return Response(serializers.payout_resource(payout, settings.MARKET_CURRENCY))


class PayableApi(APIView):
    """Return how much of your earnings can be paid out now, and why the rest can't."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="payable", responses=schema_of(serializers.PayableOut))
    def get(self, request: Request) -> Response:
        owner_id = current_user(request).pk
        payable = payable_of(owner_id=owner_id, now=clock.now())
        return Response(serializers.payable_resource(payable, payout_account_of(owner_id)))


class PayoutAccountApi(APIView):
    """Return the account that receives your earnings."""

    scopes: ClassVar = {"GET": "billing:read", "PUT": "billing:write"}

    @extend_schema(operation_id="payout_account", responses={200: schema_of(serializers.PayoutAccountOut), 404: _NONE_YET})
    def get(self, request: Request) -> Response:
        account = payout_account_of(current_user(request).pk)
        if account is None:
            raise NotFound("No payout account was added yet.")
        return Response(serializers.account_resource(account))

    @extend_schema(
        operation_id="payout_account_set",
        request=serializers.PayoutAccountIn,
        responses=schema_of(serializers.PayoutAccountOut),
    )
    def put(self, request: Request) -> Response:
        """Set the account that receives your earnings.

        Only works in a session that has just confirmed the password or second factor, never with a token.
        """
        require_confirmation(request)
        wanted = validated(serializers.PayoutAccountIn, request.data)
        minimum, automatic = parse_money(wanted.pop("minimum", _FIRST_MINIMUM)), wanted.pop("automatic")
        account = save_payout_account(
            owner_id=current_user(request).pk,
            destination=parse_destination(**wanted),
            minimum_micros=minimum,
            automatic=automatic,
        )
        return Response(serializers.account_resource(account))


class PayoutOnboardingApi(APIView):
    """Start being paid by Stripe."""

    scopes: ClassVar = {"POST": "billing:write"}

    @extend_schema(
        operation_id="payout_account_onboarding", request=None, responses={201: schema_of(serializers.OnboardingOut)}
    )
    def post(self, request: Request) -> Response:
        """Return the address of Stripe's page on which you verify your identity.

        It can be opened once, within minutes. Works only in a session that has just confirmed the password or
        second factor, because whoever completes that page is paid.
        """
        require_confirmation(request)
        return Response(serializers.OnboardingOut(url=start_onboarding(owner=current_user(request))), status=201)
