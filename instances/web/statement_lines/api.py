"""API of one statement line, explained down to the reports that prove it."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from billing.statements.explanation import ChargedPeriod
from billing.web.ledger.seal_serializers import Micros, SealOut, SignedOut
from common.ids import public_id
from instances.statement_lines.selectors import LineEvidence, explain_with_reports


class GapOut(serializers.Serializer[Any]):
    """Adjacent time that is not charged."""

    begin = serializers.DateTimeField()
    end = serializers.DateTimeField(allow_null=True, help_text="null: nothing follows")
    seconds = serializers.FloatField(allow_null=True)
    why = serializers.ChoiceField(
        ["stopped", "money", "silent"],
        help_text="`stopped`: a stop's grace period was over; `money`: no funds were held; `silent`: no report confirmed it",
    )


class StepOut(serializers.Serializer[Any]):
    """A rate, and the continuous use after which it applies."""

    from_seconds = serializers.SerializerMethodField()
    rate = Micros("rate_micros")
    here = serializers.BooleanField(help_text="This entry is within this step")

    def get_from_seconds(self, step: Any) -> float:
        return float(step.from_us / 1_000_000)


class UseOut(serializers.Serializer[Any]):
    """The period, its meter, and the computation of the amount.

    amount = cost_after − cost_before, where cost is the price of all continuous use up to then, rounded half up once.
    Within one rate that is seconds × rate ÷ unit_seconds, up to the rounding of its two ends.
    """

    given_back = serializers.BooleanField(
        source="is_given_back", help_text="This entry refunds what was charged for the period"
    )
    meter = serializers.UUIDField(source="meter.pk")
    mode = serializers.CharField(source="meter.mode")
    gpu_model = serializers.CharField(source="meter.gpu_model")
    by_the_clock = serializers.BooleanField(
        source="meter.calendar", help_text="Billed by calendar time, without reports: terms, disks, kept GPUs"
    )
    opened_at = serializers.DateTimeField(source="meter.opened_at")
    proven_until = serializers.DateTimeField(source="meter.proven_until")
    funded_until = serializers.DateTimeField(source="meter.funded_until", help_text="The hold covers usage up to this time")
    capped_at = serializers.DateTimeField(
        source="meter.capped_at", allow_null=True, help_text="The stop request plus its grace period"
    )
    closed_at = serializers.DateTimeField(source="meter.closed_at", allow_null=True)
    held_from = serializers.DateTimeField(allow_null=True, help_text="Since when funds are held for it")
    held_until = serializers.DateTimeField(allow_null=True)
    seconds = serializers.CharField()
    used_before_s = serializers.CharField(help_text="Continuous use when the period began, seconds")
    used_after_s = serializers.CharField()
    rate = Micros("usage.rate_micros")
    unit_seconds = serializers.IntegerField(help_text="The number of seconds that the rate covers")
    steps = StepOut(many=True)
    unrounded_micros = serializers.CharField(help_text="seconds × rate ÷ unit_seconds, in millionths")
    cost_before_micros = serializers.IntegerField()
    cost_after_micros = serializers.IntegerField()
    charge = Micros("usage.charge_micros")
    fee_bps = serializers.IntegerField(source="meter.fee_bps", help_text="Platform fee, in hundredths of a percent")
    fee = Micros("usage.fee_micros")
    host_share = Micros("share_micros")
    gap_before = GapOut(allow_null=True)
    gap_after = GapOut(allow_null=True)


class ReadingOut(serializers.Serializer[Any]):
    """Usage measured by the host's agent in one report."""

    at = serializers.DateTimeField()
    gpu_util_pct = serializers.FloatField()
    vram_used_mb = serializers.IntegerField()
    cpu_pct = serializers.FloatField()
    ram_mb = serializers.IntegerField()


class ReportsOut(serializers.Serializer[Any]):
    """Stored reports of the period.

    Two reports at most 120 s apart confirm the time between them.
    """

    count = serializers.IntegerField()
    first = serializers.DateTimeField(allow_null=True)
    last = serializers.DateTimeField(allow_null=True)
    longest_wait_s = serializers.SerializerMethodField()
    readings = ReadingOut(many=True, help_text="The first 200")

    @extend_schema_field(serializers.FloatField(allow_null=True))
    def get_longest_wait_s(self, reports: Any) -> float | None:
        return None if reports.longest is None else reports.longest.total_seconds()


class LineOut(serializers.Serializer[Any]):
    """One statement entry with everything its amount is calculated from."""

    id = serializers.CharField(source="line.id")
    side = serializers.SerializerMethodField()
    kind = serializers.CharField(source="line.kind")
    what = serializers.CharField(source="line.what")
    amount = Micros("line.amount_micros")
    booked_at = serializers.DateTimeField(source="line.booked_at")
    posting = serializers.IntegerField(source="line.posting_id")
    posting_key = serializers.CharField(source="line.posting_key", help_text="Unique, so that nothing is booked twice")
    period_from = serializers.DateTimeField(source="line.period_from", allow_null=True)
    period_to = serializers.DateTimeField(source="line.period_to", allow_null=True)
    instance = serializers.SerializerMethodField()
    use = serializers.SerializerMethodField()
    reports = ReportsOut(allow_null=True, help_text="null where no reports are needed")
    signed = SignedOut(allow_null=True, help_text="The same for renter and host")
    seal = SealOut(source="line.seal", allow_null=True, help_text="null until the next seal, within the hour")

    @extend_schema_field(serializers.ChoiceField(["renter", "host"]))
    def get_side(self, found: LineEvidence) -> str:
        return "host" if found.line.is_host else "renter"

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_instance(self, found: LineEvidence) -> str | None:
        return None if found.instance is None else public_id("inst", found.instance.pk)

    @extend_schema_field(UseOut(allow_null=True))
    def get_use(self, found: LineEvidence) -> Any:
        use: ChargedPeriod | None = found.line.use
        return None if use is None else UseOut(use).data


class LineView(APIView):
    """Return one statement entry with the details of its calculation."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="wallet_entries_retrieve", responses=LineOut)
    def get(self, request: Request, line_id: str) -> Response:
        return Response(LineOut(explain_with_reports(owner_id=current_user(request).pk, line_id=line_id)).data)
