"""Reserved terms and spot bids of instances."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from common import clock
from common.ids import new_uuid
from instances.models.instances import Instance
from instances.models.quotes import Quote
from instances.states import BidState, TermState


class Term(models.Model):
    """A reserved term of an instance: its GPUs are leased and charged for all of it, running or stopped."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    instance = models.ForeignKey(Instance, on_delete=models.PROTECT, related_name="terms")
    quote = models.ForeignKey(Quote, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    term = models.CharField(max_length=6, help_text="day, week, month, year, year3")
    payment = models.CharField(max_length=8, help_text="upfront or none")
    gpu_count = models.PositiveIntegerField()
    unit_micros = models.BigIntegerField(help_text="Per GPU and hour, the discount taken off.")
    list_unit_micros = models.BigIntegerField(help_text="Per GPU and hour without it: what an early end is re-priced at.")
    total_micros = models.BigIntegerField(help_text="unit × GPUs × hours.")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    auto_renew = models.BooleanField(default=False)
    state = models.CharField(max_length=8, choices=TermState, default=TermState.NEXT)
    generation = models.PositiveBigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)
    exit_fee_micros = models.BigIntegerField(default=0)

    class Meta:
        ordering = ("-starts_at", "-id")
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=TermState.values), name="term_state"),
            models.CheckConstraint(condition=Q(starts_at__lt=models.F("ends_at")), name="term_ends_after_start"),
            models.UniqueConstraint(fields=["instance"], condition=Q(state="active"), name="one_active_term_per_instance"),
            models.UniqueConstraint(fields=["instance"], condition=Q(state="next"), name="one_coming_term_per_instance"),
        ]
        indexes: ClassVar = [models.Index(fields=["ends_at"], condition=Q(state="active"), name="term_to_end")]

    def __str__(self) -> str:
        return f"{self.term} of {self.instance_id}"


class SpotBid(models.Model):
    """The bid of a spot instance for GPUs of one offer; its history is in the instance's events."""

    instance = models.OneToOneField(Instance, on_delete=models.PROTECT, primary_key=True, related_name="bid")
    offer = models.ForeignKey("marketplace.Offer", on_delete=models.PROTECT, related_name="bids")
    gpu_count = models.PositiveIntegerField()
    max_price_micros = models.BigIntegerField(help_text="Per GPU and hour.")
    price_micros = models.BigIntegerField(null=True, blank=True, help_text="What it pays now, per GPU and hour.")
    floor_micros = models.BigIntegerField(
        null=True, blank=True, help_text="The offer's floor when its GPUs were granted: a floor raised later is not for it."
    )
    state = models.CharField(max_length=8, choices=BidState, default=BidState.WAITING)
    generation = models.PositiveBigIntegerField(default=0)
    placed_at = models.DateTimeField(default=clock.now, help_text="Of equal bids the earlier one wins.")
    held_since = models.DateTimeField(null=True, blank=True, help_text="No notice before the minimum run time is over.")
    resumes_from = models.DateTimeField(null=True, blank=True, help_text="No sooner after it yielded: prices may flap.")
    notice_at = models.DateTimeField(null=True, blank=True)
    yields_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True, help_text="When the mail about its notice went into the outbox.")
    language = models.CharField(max_length=10, default="en", help_text="In which its renter is written to.")
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(state__in=BidState.values), name="bid_state"),
            models.CheckConstraint(condition=Q(gpu_count__gt=0, max_price_micros__gt=0), name="bid_is_positive"),
            models.CheckConstraint(
                condition=Q(notice_at__isnull=True) | Q(yields_at__isnull=False), name="notice_names_its_end"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["offer", "-max_price_micros", "placed_at"], condition=~Q(state="ended"), name="bids_of_offer"
            ),
            models.Index(fields=["yields_at"], condition=Q(state="notice"), name="bids_to_yield"),
        ]

    def __str__(self) -> str:
        return f"bid of {self.instance_id}"

    @property
    def mail_key(self) -> str:
        """Return the key of the mail about the present notice in the outbox."""
        return f"spot:{self.pk.hex}:{self.notice_at:%Y%m%dT%H%M%S.%f}"
