"""Staff panel of instances and their events; host panel of the instances on an owner's hosts.

The host panel shows none of the renter's secrets.
"""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.web.admin_sites import OwnRowsAdmin, ReadOnlyAdmin, ReadOnlyInline, host_panel, panel_user, staff_panel
from common.errors import DomainError
from common.ids import public_id
from common.money import format_money
from common.refusals import error_message
from instances.enforcement.fault_reports import decide_report
from instances.models import FaultReport, Instance, InstanceEvent, Watch

COMMON_FIELDS = (
    "public",
    "state",
    "host",
    "gpu_count",
    "gpu_uuids",
    "cpu_millis",
    "ram_mb",
    "data_disk_gb",
    "ports",
    "rate",
    "progress",
    "failure_code",
    "failure_detail",
    "fault_of",
    "created_at",
    "started_at",
    "stopped_at",
    "release_at",
    "released_at",
    "observed_at",
)


class _InstanceColumns:
    """Columns that both panels show."""

    @admin.display(description=_("id"))
    def public(self, row: Instance) -> str:
        return public_id("inst", row.pk)

    @admin.display(description=_("per hour"), ordering="rate_micros_per_hour")
    def rate(self, row: Instance) -> str:
        return format_money(row.rate_micros_per_hour)


class InstanceEventInline(ReadOnlyInline):
    model = InstanceEvent
    fields = ("at", "kind", "from_state", "to_state", "detail", "actor")
    readonly_fields = fields
    per_page = 30


@admin.register(Instance, site=staff_panel)
class InstanceAdmin(_InstanceColumns, ReadOnlyAdmin):
    list_display = ("name", "renter", "host", "state", "desired", "gpu_count", "rate", "created_at", "deadline")
    list_filter = ("state", "desired")
    list_select_related = ("renter", "host")
    search_fields = ("id", "name", "renter__email", "host__name", "host__id")
    fields = (
        "name",
        "renter",
        "image",
        "desired",
        "run_generation",
        "observed_generation",
        "fence",
        "deadline",
        *COMMON_FIELDS,
    )
    readonly_fields = fields
    inlines = (InstanceEventInline,)


@admin.register(FaultReport, site=staff_panel)
class FaultReportAdmin(ReadOnlyAdmin):
    """Fault reports of renters against hosts.

    Payouts of what the host earned by the reported run wait until staff decide here.
    """

    list_display = ("instance", "detail", "verdict", "opened_at", "decided_by", "closed_at")
    list_filter = ("verdict",)
    list_select_related = ("instance", "decided_by")
    search_fields = ("instance__id", "instance__renter__email", "instance__host__name")
    actions = ("uphold", "reject")

    @admin.action(description=_("Accept: refund the end of the run"))
    def uphold(self, request: HttpRequest, rows: QuerySet[FaultReport]) -> None:
        self._decide(request, rows, upheld=True)

    @admin.action(description=_("Reject: it was working"))
    def reject(self, request: HttpRequest, rows: QuerySet[FaultReport]) -> None:
        self._decide(request, rows, upheld=False)

    @staticmethod
    def _decide(request: HttpRequest, rows: QuerySet[FaultReport], *, upheld: bool) -> None:
        for row in rows:
            try:
                decide_report(staff=panel_user(request), report_id=row.pk, upheld=upheld)
            except DomainError as error:
                messages.error(request, f"{row}: {error_message(error)}")
            else:
                messages.success(request, str(row))


@admin.register(Instance, site=host_panel)
class HostedInstanceAdmin(_InstanceColumns, OwnRowsAdmin):
    owner_path = "host__owner"
    list_display = ("public", "host", "state", "gpu_count", "rate", "created_at", "started_at")
    list_filter = ("state",)
    list_select_related = ("host",)
    fields = COMMON_FIELDS
    readonly_fields = fields


@admin.register(Watch, site=staff_panel)
class WatchAdmin(ReadOnlyAdmin):
    list_display = ("place", "user", "action", "line", "state", "max_price", "created_at", "expires_at", "ended_at")
    list_filter = ("state", "action")
    list_select_related = ("user",)
    search_fields = ("id", "user__email", "line")
    ordering = ("-place",)

    @admin.display(description=_("max price"), ordering="max_price_micros")
    def max_price(self, row: Watch) -> str:
        return "" if row.max_price_micros is None else format_money(row.max_price_micros)
