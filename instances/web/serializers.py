"""Requests about quotes and instances."""

from typing import Any

from rest_framework import serializers

from billing.pricing.estimates import MODES
from common.http.fields import AmountText, NameText
from instances.constants import ALLOWED_NETWORKS_AT_MOST
from instances.web.launch.serializers import LaunchFields
from instances.web.schedules.serializers import SettingsPatch
from marketplace.pricing.prices import TERM_HOURS

Text, Whole = serializers.CharField, serializers.IntegerField


class TemplateFields(LaunchFields):
    """A launch template, and what runs in the instance; what the request says replaces what the template says."""

    launch_template = Text(
        required=False, allow_null=True, max_length=120, help_text="tmpl_… or its slug, each alone or as …@version"
    )
    inputs = serializers.DictField(
        required=False, allow_null=True, help_text="Values of the template's inputs by name; left out: its presets"
    )


class QuoteIn(TemplateFields):
    """What to rent and run there, or which instance to change."""

    offer = Text(required=False, allow_null=True, help_text="offr_…; required unless `instance` is given")
    instance = Text(
        required=False,
        allow_null=True,
        help_text="inst_…: a change in place of this instance; then offer, GPUs, image and disk are its own",
    )
    gpu_count = Whole(min_value=1, max_value=64, default=1)
    billing_mode = serializers.ChoiceField(choices=list(MODES), default="hourly")
    image = Text(default="berth-base", help_text="Slug or img_…")
    data_disk_gb = Whole(min_value=0, max_value=1_000_000, default=0, help_text="Above the free quota it costs per GB-day")
    term = serializers.ChoiceField(
        choices=list(TERM_HOURS), required=False, allow_null=True, help_text="Of a reserved quote; one that the offer sells"
    )
    payment = serializers.ChoiceField(
        choices=["upfront", "none"], required=False, allow_null=True, help_text="Of a reserved quote; left out: upfront"
    )
    max_price = AmountText(
        required=False, allow_null=True, help_text="Of a spot quote: the most per GPU and hour, the floor at least"
    )
    hours = Whole(
        min_value=1,
        max_value=26_280,
        required=False,
        allow_null=True,
        help_text="How long the projection looks ahead; left out: the whole term, else one hour",
    )
    allow_from = serializers.ListField(
        child=Text(max_length=50),
        required=False,
        max_length=ALLOWED_NETWORKS_AT_MOST,
        help_text="Networks that SSH is to be restricted to later: checked against the host, and not stored",
    )


class InstanceIn(TemplateFields):
    """An order. With any launch setting, all must be those of the quote; its template must be the quote's."""

    quote_id = Text(help_text="quot_…")
    auto_renew = serializers.BooleanField(default=False, help_text="Of a reserved term: again at its end, at the price then")
    offer = Text(required=False, allow_null=True, help_text="This and the next ones: refused unless the quote says the same")
    image = Text(required=False, allow_null=True, help_text="Slug or img_…")
    gpu_count = Whole(min_value=1, required=False, allow_null=True)
    billing_mode = serializers.ChoiceField(choices=list(MODES), required=False, allow_null=True)
    data_disk_gb = Whole(min_value=0, required=False, allow_null=True)
    term = serializers.ChoiceField(choices=list(TERM_HOURS), required=False, allow_null=True)
    payment = serializers.ChoiceField(choices=["upfront", "none"], required=False, allow_null=True)
    max_total = AmountText(required=False, allow_null=True, help_text="Refused when due_now or projected_total is more")
    signature = Text(required=False, allow_null=True, max_length=128, help_text="As the quote has it")
    name = NameText(max_length=80, allow_blank=True, default="")
    ssh_key_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="key_…; left out: all of the account, those added later too",
    )
    volume_ids = serializers.ListField(
        child=Text(), max_length=8, default=list, help_text="vol_…: volumes on the offer's host, found at /mnt/<name>"
    )
    data_sets = serializers.ListField(
        child=Text(max_length=40), max_length=8, default=list, help_text="Public data sets there, found at /pub/<slug>"
    )
    ports = serializers.ListField(
        child=Whole(min_value=1, max_value=65_535), max_length=8, default=list, help_text="Extra container ports to publish"
    )
    udp_ports = serializers.ListField(
        child=Whole(min_value=1, max_value=65_535),
        max_length=8,
        default=list,
        help_text="Further ones, published for UDP as well as TCP; refused on hosts that can't (`udp_unsupported`)",
    )


class InstancePatch(SettingsPatch):
    """Settings to change; what you leave out stays as it is."""

    name = NameText(max_length=80, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Say what to change: name, locked, schedule or idle_stop.")
        return attrs


class StartIn(serializers.Serializer[Any]):
    """How to start again."""

    mode = serializers.ChoiceField(
        choices=["gpu", "cpu"],
        default="gpu",
        help_text="cpu: without its GPUs, half a core and 2 GB at `billing.cpu_hourly_rate`; nothing is leased",
    )
    max_hourly_rate = Text(
        required=False, allow_null=True, help_text="Accept a price that has risen since, up to this much an hour"
    )
    volume_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=8,
        help_text="vol_…: with these volumes and no others; left out: with those that it has",
    )
    wait = serializers.BooleanField(
        default=False, help_text="When its GPUs are taken: stand in line for them, one hour's money held, up to 7 days"
    )
