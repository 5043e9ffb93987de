"""Serializers of signed usage records, seals, the explanation of a line, and spending."""

from typing import Any

from rest_framework import serializers

from common.http.fields import DayText
from common.money import format_money


class Micros(serializers.CharField):
    """Micro-units as a decimal string."""

    def __init__(self, source: str | None = None, **options: Any) -> None:
        super().__init__(read_only=True, **(options if source is None else options | {"source": source}))

    def to_representation(self, value: Any) -> str:
        return format_money(value)


class UsageRecord(serializers.Serializer[Any]):
    """A charged period, byte for byte the same for payer and payee.

    Amounts are whole millionths of the currency.
    """

    version = serializers.IntegerField(help_text="1")
    usage = serializers.IntegerField(help_text="The usage row's number")
    posting = serializers.IntegerField(help_text="Number of the posting that booked it")
    meter = serializers.CharField()
    source = serializers.CharField(help_text="The source: `instance:…`, `disk:…`, `hold:…`, `term:…`")  # type: ignore[assignment]  # a field
    what = serializers.CharField()
    mode = serializers.CharField(allow_blank=True)
    gpu_model = serializers.CharField(allow_blank=True)
    period_from = serializers.CharField(help_text="UTC to the microsecond")
    period_to = serializers.CharField()
    rate_micros = serializers.IntegerField(help_text="Per `rate_hours` hours")
    rate_hours = serializers.IntegerField()
    charge_micros = serializers.IntegerField()
    fee_micros = serializers.IntegerField(help_text="The platform's share of the charge")
    share_micros = serializers.IntegerField(help_text="The host's share")
    currency = serializers.CharField()
    payer = serializers.CharField(help_text="A wallet: the renter's, or Berth's escrow for prepaid terms")
    payee = serializers.CharField(help_text="The host owner's wallet")
    booked_at = serializers.CharField()


class SignedOut(serializers.Serializer[Any]):
    """A record and Berth's Ed25519 signature of it."""

    record = UsageRecord()
    signature = serializers.CharField(
        help_text="Hex, over the record as JSON with sorted keys, without whitespace, in UTF-8"
    )


class RecordsIn(serializers.Serializer[Any]):
    """Filters for usage records, by time of booking."""

    since = serializers.DateTimeField(required=False, default=None, help_text="Booked at or after this time")
    until = serializers.DateTimeField(required=False, default=None, help_text="Booked before this time")
    after = serializers.IntegerField(
        required=False, default=0, min_value=0, max_value=2**63 - 1, help_text="`next` of the previous page"
    )
    limit = serializers.IntegerField(required=False, default=100, min_value=1, max_value=1000)


class RecordsOut(serializers.Serializer[Any]):
    """Signed usage records, oldest first."""

    key_id = serializers.CharField(help_text="ID of the key at /.well-known/berth-ledger-key")
    records = SignedOut(many=True)
    next = serializers.IntegerField(allow_null=True, help_text="`after` of the next page; null at the end")


class SealOut(serializers.Serializer[Any]):
    """A link of the ledger's hash chain."""

    number = serializers.IntegerField()
    postings_after = serializers.IntegerField(source="after", help_text="Covers the postings numbered above this one")
    postings_upto = serializers.IntegerField(source="upto", help_text="Covers the postings up to this one")
    body = serializers.CharField(help_text="SHA-256 over the digests of its rows")
    previous = serializers.CharField(help_text="The previous head")
    head = serializers.CharField()
    sealed_at = serializers.DateTimeField()


class SpendIn(serializers.Serializer[Any]):
    """Range of days, and grouping."""

    since = DayText(required=False, default=None, help_text="First day (UTC); default: 30 days ago")
    until = DayText(required=False, default=None, help_text="Last day (UTC); default: today")
    by = serializers.ChoiceField(["day", "mode", "source"], required=False, default="day")


class SpendRow(serializers.Serializer[Any]):
    """Amount spent on one day, in one mode or on one source."""

    key = serializers.CharField(help_text="The day, the mode, or the source, such as `instance:…`")
    what = serializers.CharField(source="label", help_text="Description, for a source")
    amount = Micros("micros")
    hours = serializers.SerializerMethodField()

    def get_hours(self, row: Any) -> float:
        return float(round(row.seconds / 3600, 4))


class SpendOut(serializers.Serializer[Any]):
    """Spending in a period."""

    since = serializers.DateField()
    until = serializers.DateField()
    by = serializers.CharField()
    total = Micros("total_micros")
    rows = SpendRow(many=True)
