"""Staff panel of hosts, offers, leases and incidents; host panel of an owner's hosts and join tokens."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextInputWidget

from accounts.web.admin_sites import (
    OwnRowsAdmin,
    OwnRowsInline,
    ReadOnlyAdmin,
    ReadOnlyInline,
    host_panel,
    panel_user,
    staff_panel,
)
from common import clock
from common.agent_release import enrol_command
from common.errors import DomainError
from common.http.fields import PlainDecimalField
from common.messages.host_text import mark_host_text, render_host_text
from common.messages.rendering import said
from common.money import format_money, parse_money
from common.refusals import error_message
from marketplace.hosts.agent_keys import revoke_agent
from marketplace.hosts.hosts import BY_STAFF, freeze_host, retire_host, unfreeze_host
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.hosts.offers import set_draining, set_prices
from marketplace.models import Gpu, Host, HostEvent, JoinToken, Lease, Offer, SelfTest
from marketplace.reliability.verification import refuse_verification, restore_verification
from marketplace.self_tests.requirements import remedy_of, title_of
from marketplace.self_tests.services import request_self_test
from marketplace.web.hosts import admin as hosts_admin  # noqa: F401  register the panels' further pages
from marketplace.web.incidents import admin as incidents_admin  # noqa: F401  register the panels' further pages
from marketplace.web.pricing.context import PanelPriceForm
from marketplace.web.reliability import admin as reliability_admin  # noqa: F401  register the panels' further pages

HOST_FACTS = (
    "name",
    "region",
    "state",
    "verification",
    "verified_at",
    "last_seen_at",
    "address",
    "runtime",
    "runtime_version",
    "simulated",
    "driver",
    "cuda",
    "cpu_model",
    "cpu_cores",
    "ram_mb",
    "disk_total_gb",
    "disk_free_gb",
    "disk_kind",
    "disk_read_mbps",
    "disk_write_mbps",
    "disk_measured_at",
    "net_up_mbps",
    "net_down_mbps",
    "net_measured_at",
    "nvlink",
    "kernel",
    "port_first",
    "port_last",
    "agent_version",
    "images",
    "warnings",
    "enrolled_at",
    "agent_revoked_at",
)


class GpuInline(ReadOnlyInline):
    model = Gpu
    fields = ("index", "name", "uuid", "vram_mb", "pcie_gen", "pcie_width", "healthy", "present", "quarantined", "detail")
    readonly_fields = fields


class EventMessageColumn:
    """The column of an event's words, for both panels."""

    @admin.display(description=_("detail"))
    def message_text(self, row: HostEvent) -> str:
        return said(row.message, row.detail)


class HostEventInline(EventMessageColumn, ReadOnlyInline):
    model = HostEvent
    fields = ("at", "kind", "message_text", "actor")
    readonly_fields = fields
    per_page = 20


class SelfTestInline(ReadOnlyInline):
    """The last self-tests of a host, and what would fix their failures."""

    model = SelfTest
    fields = ("asked_at", "asked_by", "verdict", "finished_at", "simulated", "to_mend")
    readonly_fields = fields
    per_page = 5

    @admin.display(description=_("action needed"))
    def to_mend(self, row: SelfTest) -> str:
        found = [check for check in row.checks if check["needed"] and not check["passed"]]
        lines = (
            (
                format_html(
                    "{}: {} {}", title_of(check["id"]), render_host_text(mark_host_text(check["actual"])), remedy_of(check)
                ),
            )
            for check in found
        )
        return format_html_join(mark_safe("<br>"), "{}", lines) or "–"


@admin.register(Host, site=staff_panel)
class HostAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "region", "state", "verification", "runtime", "simulated", "draining", "last_seen_at")
    list_filter = ("state", "verification", "region", "simulated", "draining")
    list_select_related = ("owner",)
    search_fields = ("name", "owner__email", "id")
    inlines = (GpuInline, SelfTestInline, HostEventInline)
    actions = ("freeze", "unfreeze", "revoke", "retire", "refuse", "restore")

    @admin.action(description=_("Freeze: the agent only reports"))
    def freeze(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._each(request, rows, lambda host, actor: freeze_host(host_id=host.pk, reason=BY_STAFF, actor=actor))

    @admin.action(description=_("Unfreeze"))
    def unfreeze(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._each(request, rows, lambda host, actor: unfreeze_host(host_id=host.pk, reason=BY_STAFF, actor=actor))

    @admin.action(description=_("Revoke the agent's key until the host is added again"))
    def revoke(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._each(request, rows, lambda host, actor: revoke_agent(host_id=host.pk, actor=actor))

    @admin.action(description=_("Retire permanently"))
    def retire(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._each(request, rows, lambda host, actor: retire_host(host_id=host.pk, reason=BY_STAFF, actor=actor))

    @admin.action(description=_("Refuse verification"))
    def refuse(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._each(request, rows, lambda host, actor: refuse_verification(host_id=host.pk, reason=BY_STAFF, actor=actor))

    @admin.action(description=_("Allow verification again"))
    def restore(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._each(request, rows, lambda host, actor: restore_verification(host_id=host.pk, now=clock.now(), actor=actor))

    def _each(self, request: HttpRequest, rows: QuerySet[Host], act: Any) -> None:
        for host in rows:
            try:
                act(host, f"staff:{panel_user(request).pk.hex}")
            except DomainError as error:
                messages.error(request, f"{host.name}: {error_message(error)}")
            else:
                messages.success(request, host.name)


@admin.register(Offer, site=staff_panel)
class OfferAdmin(ReadOnlyAdmin):
    list_display = ("gpu_model", "host", "region", "price", "gpu_free", "gpu_total", "listed", "version")
    list_filter = ("region", "gpu_model", "listed")
    list_select_related = ("host",)

    @admin.display(description=_("per GPU-hour"), ordering="price_micros")
    def price(self, row: Offer) -> str:
        return format_money(row.price_micros)


@admin.register(Lease, site=staff_panel)
class LeaseAdmin(ReadOnlyAdmin):
    list_display = ("gpu", "holder", "leased_at", "released_at", "release_reason")
    list_select_related = ("gpu",)
    search_fields = ("holder", "gpu__uuid")


class OwnGpuInline(OwnRowsInline):
    model = Gpu
    fields = GpuInline.fields
    readonly_fields = fields


class OwnSelfTestInline(SelfTestInline, OwnRowsInline):
    """The last self-tests of an owner's host."""


class OwnHostEventInline(EventMessageColumn, OwnRowsInline):
    model = HostEvent
    fields = HostEventInline.fields
    readonly_fields = fields
    per_page = 20


@admin.register(Host, site=host_panel)
class OwnHostAdmin(OwnRowsAdmin):
    list_display = ("name", "region", "state", "gpus_free", "draining", "last_seen_at", "simulated")
    list_filter = ("state", "region")
    fields = HOST_FACTS
    readonly_fields = HOST_FACTS
    inlines = (OwnGpuInline, OwnSelfTestInline, OwnHostEventInline)
    actions = ("test", "drain", "reopen")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).prefetch_related("offers")

    @admin.display(description=_("GPUs free / all"))
    def gpus_free(self, row: Host) -> str:
        offers = row.offers.all()
        return f"{sum(offer.gpu_free for offer in offers)} / {sum(offer.gpu_total for offer in offers)}"

    @admin.action(description=_("Run self-test"))
    def test(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        for host in rows:
            try:
                request_self_test(actor_id=panel_user(request).pk, host_id=host.pk)
            except DomainError as error:
                messages.error(request, f"{host.name}: {error_message(error)}")
            else:
                messages.success(request, host.name)

    @admin.action(description=_("Pause new rentals; running instances continue"))
    def drain(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._set(request, rows, draining=True)

    @admin.action(description=_("Resume rentals"))
    def reopen(self, request: HttpRequest, rows: QuerySet[Host]) -> None:
        self._set(request, rows, draining=False)

    @staticmethod
    def _set(request: HttpRequest, rows: QuerySet[Host], *, draining: bool) -> None:
        for host in rows:
            set_draining(actor_id=panel_user(request).pk, host_id=host.pk, draining=draining)
            messages.success(request, host.name)


@admin.register(Offer, site=host_panel)
class OwnOfferAdmin(OwnRowsAdmin):
    """Prices and listing of the owner's offers."""

    owner_path = "host__owner"
    form = PanelPriceForm
    list_display = ("gpu_model", "host", "price_now", "gpu_free", "gpu_total", "listed")
    list_select_related = ("host",)
    list_filter = ("listed",)
    readonly_fields = ("host", "gpu_model", "gpu_total", "gpu_free")
    fields = (
        *readonly_fields,
        "price",
        ("day", "week", "month", "year", "year3"),
        "tiers_line",
        "spot_floor",
        "disk_gb_day",
        "hold",
        "listed",
    )

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def save_model(self, request: HttpRequest, obj: Offer, form: PanelPriceForm, change: bool) -> None:
        set_prices(actor_id=panel_user(request).pk, change=form.change())

    @admin.display(description=_("per GPU-hour"), ordering="price_micros")
    def price_now(self, row: Offer) -> str:
        return format_money(row.price_micros)


class JoinTokenForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    price = PlainDecimalField(
        label=_("Initial price per GPU-hour"),
        min_value=0,
        max_digits=12,
        decimal_places=6,
        widget=UnfoldAdminDecimalFieldWidget,
    )

    class Meta:
        model = JoinToken
        fields: ClassVar[list[str]] = ["host_name", "region"]
        labels: ClassVar = {"host_name": _("Name"), "region": _("Region")}
        widgets: ClassVar = {"host_name": UnfoldAdminTextInputWidget, "region": UnfoldAdminTextInputWidget}


@admin.register(JoinToken, site=host_panel)
class OwnJoinTokenAdmin(OwnRowsAdmin):
    """Join tokens, each for one host; a token is shown once, in the command to run on the machine."""

    form = JoinTokenForm
    list_display = ("host_name", "region", "created_at", "expires_at", "used_at")
    fields = ("host_name", "region", "price")
    ordering = ("-created_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.fields if obj is None else self.list_display

    def save_model(self, request: HttpRequest, obj: JoinToken, form: JoinTokenForm, change: bool) -> None:
        token, secret = issue_join_token(
            owner=panel_user(request),
            host_name=form.cleaned_data["host_name"],
            region=form.cleaned_data["region"],
            price_micros=parse_money(f"{form.cleaned_data['price']:f}"),
        )
        obj.__dict__.update(token.__dict__)
        command = enrol_command(settings.SITE_URL, secret)
        text = _("Run this on the machine within 15 minutes. It is shown only once:")
        messages.success(request, format_html("{} <code>{}</code>", text, command))

    def response_add(self, request: HttpRequest, obj: JoinToken, post_url_continue: str | None = None) -> HttpResponse:
        response: HttpResponse = self.response_post_save_add(request, obj)
        return response
