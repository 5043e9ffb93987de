"""API of card payments into one's own wallet."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from billing.payments.payments import draft_top_up, start_top_up
from billing.payments.selectors import payment_of, payments_of
from billing.web.payments import serializers
from common.http.pagination import CursorPagination
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.ids import parse_public_id
from common.money import parse_money


class TopUpsApi(APIView):
    """List your top-ups."""

    scopes: ClassVar = {"GET": "billing:read", "POST": "billing:write"}
    ordering = ("-created_at", "-id")

    @extend_schema(operation_id="topups_list", responses=serializers.TopUpPage)
    def get(self, request: Request) -> Response:
        pages = CursorPagination()
        rows = pages.paginate_queryset(payments_of(current_user(request).pk), request, self)
        return pages.get_paginated_response([serializers.top_up_resource(row, settings.MARKET_CURRENCY) for row in rows])

    @extend_schema(
        operation_id="topups_create", request=serializers.TopUpIn, responses={201: schema_of(serializers.TopUpOut)}
    )
    def post(self, request: Request) -> Response:
        """Start a top-up, to be paid at `checkout_url`; nothing is charged here.

        A dry run checks the amount without a request to Stripe.
        """
        wanted = validated(serializers.TopUpIn, request.data)
        owner, amount = current_user(request), parse_money(wanted["amount"])
        key = request.headers.get("Idempotency-Key")

        def work() -> tuple[int, Any]:
            payment = start_top_up(owner=owner, amount_micros=amount, save_card=wanted["save_card"], key=key)
            return 201, serializers.top_up_resource(payment, settings.MARKET_CURRENCY)

        def dry_run() -> tuple[int, Any]:
            return 200, serializers.top_up_resource(
                draft_top_up(owner=owner, amount_micros=amount), settings.MARKET_CURRENCY
            )

        return idempotent_response(request, work, dry_run=dry_run)


class TopUpApi(APIView):
    """Return one of your top-ups."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="topups_retrieve", responses=schema_of(serializers.TopUpDetail))
    def get(self, request: Request, topup_id: str) -> Response:
        payment = payment_of(current_user(request).pk, parse_public_id("topup", topup_id))
        return Response(serializers.top_up_detail(payment, settings.MARKET_CURRENCY))
