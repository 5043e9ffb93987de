"""API of coupons, orders and invoices."""

from typing import Any, ClassVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from billing.coupons.codes import redeem_code
from billing.coupons.selectors import coupon_views, coupons_of
from billing.invoices.selectors import OrderFilter, invoice_of, invoices_of, orders_of
from billing.models import Coupon, Entry, Invoice, Order
from billing.web.invoices.serializers import CouponOut, InvoiceOut, InvoiceSummary, OrderOut, coupon_resource, pdf_reply
from billing.web.statements.csv_export import csv_reply
from billing.web.statements.request_parsing import read_source
from common import clock
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id


class CodeIn(serializers.Serializer[Any]):
    """A coupon code to redeem."""

    code = serializers.CharField(max_length=40, help_text="Case-insensitive")


class OrdersIn(serializers.Serializer[Any]):
    """Filters for orders."""

    kind = serializers.ChoiceField(choices=Order.Kind.values, required=False, default="")
    billing_mode = serializers.ChoiceField(
        choices=("hourly", "reserved", "tiered", "spot", "cpu"), required=False, default=""
    )
    since = serializers.DateTimeField(required=False, default=None, help_text="At or after this time")
    until = serializers.DateTimeField(required=False, default=None, help_text="Before this time")
    source = serializers.CharField(  # type: ignore[assignment]  # a field of the request
        required=False, default="", max_length=60, help_text="Only for this instance: inst_…"
    )


class CsvIn(serializers.Serializer[Any]):
    """Filters for lines of the statement."""

    since = serializers.DateTimeField(required=False, default=None, help_text="Posted at or after this time")
    until = serializers.DateTimeField(required=False, default=None, help_text="Posted before this time")
    kind = serializers.ChoiceField(choices=Entry.Kind.choices, required=False, default=None, source="entry_kind")
    source = serializers.CharField(  # type: ignore[assignment]  # a field of the request
        required=False, default="", max_length=60, help_text="An instance ID: the instance, its disk, its kept GPUs"
    )


class PdfIn(serializers.Serializer[Any]):
    """Language of the document."""

    language = serializers.ChoiceField(choices=[code for code, _ in settings.LANGUAGES], required=False, default="en")


class CouponsApi(ListAPIView[Coupon]):
    """List your coupons in the order in which they are spent."""

    scopes: ClassVar = {"GET": "billing:read"}
    serializer_class = schema_of(CouponOut)
    ordering = ("-redeemed_at", "-id")

    def get_queryset(self) -> QuerySet[Coupon]:
        return coupons_of(owner_id=current_user(self.request).pk)

    @extend_schema(operation_id="coupons", responses=list_of(CouponOut))
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(self.get_queryset()) or []
        return self.get_paginated_response([coupon_resource(view) for view in coupon_views(page, now=clock.now())])


class RedeemApi(APIView):
    """Redeem a coupon code: credit at once, or a bonus on the next top-up."""

    scopes: ClassVar = {"POST": "billing:write"}

    @extend_schema(operation_id="coupons_redeem", request=CodeIn, responses={201: schema_of(CouponOut)})
    def post(self, request: Request) -> Response:
        code, owner_id = validated(CodeIn, request.data)["code"], current_user(request).pk

        def work() -> tuple[int, Any]:
            (view,) = coupon_views([redeem_code(owner_id=owner_id, code=code)], now=clock.now())
            return 201, coupon_resource(view)

        return idempotent_response(request, work)


class OrdersApi(ListAPIView[Order]):
    """List your orders, newest first."""

    scopes: ClassVar = {"GET": "billing:read"}
    serializer_class = OrderOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> QuerySet[Order]:
        query = validated(OrdersIn, self.request.query_params)
        wanted = OrderFilter(source_id=read_source(query.pop("source")), **query)
        return orders_of(owner_id=current_user(self.request).pk, wanted=wanted)

    @extend_schema(operation_id="orders", parameters=[OrdersIn], responses=OrderOut(many=True))
    def get(self, request: Request) -> Response:
        return self.list(request)


class InvoicesApi(ListAPIView[Invoice]):
    """List your invoices and credit notes, newest first."""

    scopes: ClassVar = {"GET": "billing:read"}
    serializer_class = InvoiceSummary
    ordering = ("-issued_at", "-id")

    def get_queryset(self) -> QuerySet[Invoice]:
        return invoices_of(owner_id=current_user(self.request).pk)

    @extend_schema(operation_id="invoices", responses=InvoiceSummary(many=True))
    def get(self, request: Request) -> Response:
        return self.list(request)


class InvoiceApi(APIView):
    """Return one of your invoices with its lines."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="invoices_retrieve", responses=InvoiceOut)
    def get(self, request: Request, invoice_id: str) -> Response:
        return Response(InvoiceOut(_invoice(request, invoice_id)).data)


class InvoicePdfApi(APIView):
    """Return one of your invoices as a PDF document."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(
        operation_id="invoices_pdf",
        parameters=[PdfIn],
        responses={(200, "application/pdf"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, invoice_id: str) -> HttpResponse:
        language = validated(PdfIn, request.query_params)["language"]
        return pdf_reply(_invoice(request, invoice_id), language)


def _invoice(request: Request, invoice_id: str) -> Invoice:
    return invoice_of(owner_id=current_user(request).pk, invoice_id=parse_public_id("invc", invoice_id))


class WalletCsvApi(APIView):
    """Return the statement of your wallet as CSV: UTF-8 with a byte order mark, amounts as exact decimals."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(
        operation_id="wallet_entries_csv",
        parameters=[CsvIn],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        query = validated(CsvIn, request.query_params)
        query["source"] = read_source(query["source"])
        return csv_reply(current_user(request).pk, **query)
