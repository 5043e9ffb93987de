"""Serializers of coupons, orders and invoices."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from billing.coupons.selectors import CouponView
from billing.invoices.lines import lines_from_json
from billing.invoices.pdf import invoice_pdf
from billing.models import Invoice, Order
from billing.web.source_ids import source_public_id
from common.http.resource_schemas import list_of
from common.ids import public_id
from common.money import format_money
from common.resources import OneOf, resource


@resource
class DrawOut:
    """Use of a coupon by one source."""

    source_kind: str
    source_id: str
    since: datetime
    until: datetime | None
    used: Annotated[str, "Money spent on it"]
    set_aside: Annotated[str, "On hold for it"]
    returned: Annotated[str, "Returned unused"]


@resource
class CouponOut:
    """A redeemed coupon."""

    id: str
    code: str
    kind: Annotated[str, OneOf(("fixed", "percent"))]
    state: Annotated[str, OneOf(("waiting", "ready", "used_up", "expired"))]
    percent: Annotated[float | None, "Of the next top-up"]
    most: Annotated[str | None, "Maximum amount of the bonus"]
    modes: Annotated[list[str], "Applies to these; empty: all modes"]
    gpu_models: Annotated[list[str], "Applies to these; empty: all models"]
    granted: str
    remaining: Annotated[str, "Available now"]
    set_aside: Annotated[str, "On hold"]
    used: str
    redeemed_at: datetime
    expires_at: datetime | None
    history: list[DrawOut]


def coupon_resource(view: CouponView) -> CouponOut:
    return CouponOut(
        id=public_id("cpn", view.id),
        code=view.code,
        kind=view.kind,
        state=view.state,
        percent=view.percent_bps / 100 if view.percent_bps else None,
        most=None if view.most_micros is None else format_money(view.most_micros),
        modes=list(view.modes),
        gpu_models=list(view.gpu_models),
        granted=format_money(view.granted_micros),
        remaining=format_money(view.remaining_micros),
        set_aside=format_money(view.set_aside_micros),
        used=format_money(view.used_micros),
        redeemed_at=view.redeemed_at,
        expires_at=view.expires_at,
        history=[
            DrawOut(
                source_kind=stretch.source_kind,
                source_id=source_public_id(stretch.source_kind, stretch.source_id),
                since=stretch.opened_at,
                until=stretch.closed_at,
                used=format_money(stretch.used_micros),
                set_aside=format_money(stretch.set_aside_micros),
                returned=format_money(stretch.returned_micros),
            )
            for stretch in view.history
        ],
    )


class OrderOut(serializers.Serializer[Order]):
    """One order: a decision that cost or may cost money."""

    id = serializers.SerializerMethodField()
    at = serializers.DateTimeField(source="created_at", read_only=True)
    kind = serializers.ChoiceField(choices=Order.Kind.values, read_only=True)
    title = serializers.CharField(read_only=True)
    source_kind = serializers.CharField(read_only=True)
    source_id = serializers.SerializerMethodField()
    billing_mode = serializers.CharField(read_only=True)
    amount = serializers.SerializerMethodField(help_text="Paid upfront; negative: refunded")
    hourly_rate = serializers.SerializerMethodField()

    def get_id(self, order: Order) -> str:
        return public_id("ordr", order.pk)

    def get_source_id(self, order: Order) -> str:
        return source_public_id(order.source_kind, order.source_id)

    def get_amount(self, order: Order) -> str:
        return format_money(order.amount_micros)

    def get_hourly_rate(self, order: Order) -> str | None:
        return None if order.rate_micros_per_hour is None else format_money(order.rate_micros_per_hour)


@resource
class PaperLineOut:
    """One line of an invoice: seconds × rate ÷ (rate_hours × 3600) is the amount."""

    kind: str
    what: str
    source_kind: str
    source_id: str
    mode: str
    period_from: datetime
    period_to: datetime
    seconds: float
    rate: str | None
    rate_hours: Annotated[int, "Number of hours that the rate covers"]
    amount: str


class PartyOut(serializers.Serializer[Any]):
    """Seller or buyer, as of the date of issue."""

    name = serializers.CharField()
    address = serializers.CharField()
    country = serializers.CharField(required=False)
    tax_id = serializers.CharField()
    email = serializers.CharField(required=False)


class InvoiceSummary(serializers.Serializer[Invoice]):
    """An invoice or credit note without its lines."""

    id = serializers.SerializerMethodField()
    number = serializers.CharField(source="full_number", read_only=True)
    kind = serializers.ChoiceField(choices=Invoice.Kind.values, read_only=True)
    corrects = serializers.SerializerMethodField(help_text="The number of the corrected invoice")
    period_from = serializers.DateTimeField(read_only=True)
    period_to = serializers.DateTimeField(read_only=True)
    issued_at = serializers.DateTimeField(read_only=True)
    currency = serializers.CharField(read_only=True)
    total = serializers.SerializerMethodField(help_text="Tax included")
    tax = serializers.SerializerMethodField(help_text="Within the total")
    tax_percent = serializers.SerializerMethodField()
    paid_by_coupons = serializers.SerializerMethodField()

    def get_id(self, invoice: Invoice) -> str:
        return public_id("invc", invoice.pk)

    def get_corrects(self, invoice: Invoice) -> str | None:
        return None if invoice.corrects is None else invoice.corrects.full_number

    def get_total(self, invoice: Invoice) -> str:
        return format_money(invoice.total_micros)

    def get_tax(self, invoice: Invoice) -> str:
        return format_money(invoice.tax_micros)

    def get_tax_percent(self, invoice: Invoice) -> float:
        return invoice.tax_bps / 100

    def get_paid_by_coupons(self, invoice: Invoice) -> str:
        return format_money(invoice.coupon_micros)


class InvoiceOut(InvoiceSummary):
    """An invoice or credit note as it was issued."""

    reason = serializers.CharField(read_only=True, help_text="For a correction")
    seller = PartyOut(read_only=True)
    buyer = PartyOut(read_only=True)
    lines = serializers.SerializerMethodField()

    @extend_schema_field(list_of(PaperLineOut))
    def get_lines(self, invoice: Invoice) -> list[PaperLineOut]:
        return [
            PaperLineOut(
                kind=line.kind,
                what=line.what,
                source_kind=line.source_kind,
                source_id=source_public_id(line.source_kind, UUID(hex=line.source_id)),
                mode=line.mode,
                period_from=line.since,
                period_to=line.until,
                seconds=line.seconds,
                rate=None if line.rate_micros is None else format_money(line.rate_micros),
                rate_hours=line.rate_hours,
                amount=format_money(line.amount_micros),
            )
            for line in lines_from_json(invoice.lines)
        ]


def pdf_reply(invoice: Invoice, language: str) -> HttpResponse:
    """Return the document as a download, named by its number."""
    reply = HttpResponse(invoice_pdf(invoice, language), content_type="application/pdf")
    reply["Content-Disposition"] = f'attachment; filename="{invoice.full_number}.pdf"'
    return reply
