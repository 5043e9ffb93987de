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
        required=False, allow_null=True, max_length=120, help_text="tmpl_… or its slug, optionally with @version"
    )
    inputs = serializers.DictField(
        required=False, allow_null=True, help_text="Values of the template's inputs by name; default: its defaults"
    )


class QuoteIn(TemplateFields):
    """What to rent and run, or which instance to change."""

    offer = Text(required=False, allow_null=True, help_text="offr_…; required unless `instance` is given")
    instance = Text(
        required=False,
        allow_null=True,
        help_text="inst_…: change this instance in place; offer, GPUs, image and disk are then its own",
    )
    gpu_count = Whole(min_value=1, max_value=64, default=1)
    billing_mode = serializers.ChoiceField(choices=list(MODES), default="hourly")
    image = Text(default="berth-base", help_text="Slug or img_…")
    data_disk_gb = Whole(
        min_value=0, max_value=1_000_000, default=0, help_text="Charged per GB-day above the free allowance"
    )
    term = serializers.ChoiceField(
        choices=list(TERM_HOURS), required=False, allow_null=True, help_text="For a reserved quote; one of the offer's terms"
    )
    payment = serializers.ChoiceField(
        choices=["upfront", "none"], required=False, allow_null=True, help_text="For a reserved quote; default: upfront"
    )
    max_price = AmountText(
        required=False, allow_null=True, help_text="For a spot quote: max price per GPU-hour, at least the floor price"
    )
    hours = Whole(
        min_value=1,
        max_value=26_280,
        required=False,
        allow_null=True,
        help_text="Length of the projection; default: the whole term, otherwise one hour",
    )
    allow_from = serializers.ListField(
        child=Text(max_length=50),
        required=False,
        max_length=ALLOWED_NETWORKS_AT_MOST,
        help_text="Planned IP allowlist of SSH; only checked against the host, not stored",
    )


class InstanceIn(TemplateFields):
    """An order. If it has launch settings, they must match those of the quote, including the template."""

    quote_id = Text(help_text="quot_…")
    auto_renew = serializers.BooleanField(
        default=False, help_text="For reserved terms: renew at the end, at the then-current price"
    )
    offer = Text(required=False, allow_null=True, help_text="This field and the following ones must match the quote")
    image = Text(required=False, allow_null=True, help_text="Slug or img_…")
    gpu_count = Whole(min_value=1, required=False, allow_null=True)
    billing_mode = serializers.ChoiceField(choices=list(MODES), required=False, allow_null=True)
    data_disk_gb = Whole(min_value=0, required=False, allow_null=True)
    term = serializers.ChoiceField(choices=list(TERM_HOURS), required=False, allow_null=True)
    payment = serializers.ChoiceField(choices=["upfront", "none"], required=False, allow_null=True)
    max_total = AmountText(required=False, allow_null=True, help_text="Fails if due_now or projected_total is higher")
    signature = Text(required=False, allow_null=True, max_length=128, help_text="The signature of the quote")
    name = NameText(max_length=80, allow_blank=True, default="")
    ssh_key_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="key_…; default: all keys of the account, including those added later",
    )
    volume_ids = serializers.ListField(
        child=Text(), max_length=8, default=list, help_text="vol_…: volumes on the offer's host, mounted at /mnt/<name>"
    )
    data_sets = serializers.ListField(
        child=Text(max_length=40),
        max_length=8,
        default=list,
        help_text="Public data sets on the host, mounted at /pub/<slug>",
    )
    ports = serializers.ListField(
        child=Whole(min_value=1, max_value=65_535), max_length=8, default=list, help_text="Extra container ports to publish"
    )
    udp_ports = serializers.ListField(
        child=Whole(min_value=1, max_value=65_535),
        max_length=8,
        default=list,
        help_text="Further ports, published for UDP as well as TCP; fails on hosts without UDP support (`udp_unsupported`)",
    )


class InstancePatch(SettingsPatch):
    """Settings to change; omitted fields stay unchanged."""

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
        help_text="cpu: without GPUs, with half a core and 2 GB at `billing.cpu_hourly_rate`",
    )
    max_hourly_rate = Text(required=False, allow_null=True, help_text="Accept a higher price, up to this much per hour")
    volume_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=8,
        help_text="vol_…: start with exactly these volumes; default: those already attached",
    )
    wait = serializers.BooleanField(
        default=False, help_text="If its GPUs are taken, join the queue for up to 7 days; one hour is held"
    )
