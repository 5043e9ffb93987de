"""Dashboards of the two panels: the market for staff, supply and earnings for a host owner."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.web.admin_sites import panel_user
from billing.audit.selectors import ledger_findings
from billing.findings import Finding
from billing.payouts.earned_intervals import accrued_earnings
from billing.payouts.payable_balance import PayableBalance
from billing.payouts.selectors import payable_of, payouts_to_send
from common import clock
from common.messages.rendering import said
from common.money import divide_half_up, format_money
from instances.earnings.report import earnings_report
from marketplace.hosts.incidents import open_incidents
from marketplace.hosts.selectors import all_hosts, hosts_of
from marketplace.incident_messages import KINDS

EARNING_DAYS = 30
_CENT = 10_000


def staff_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    hosts, incidents, findings = list(all_hosts()), list(open_incidents()), ledger_findings()
    figures = [
        *_supply(hosts, reverse("admin:marketplace_host_changelist")),
        _figure(_("Payouts awaiting bank transfer"), payouts_to_send(), reverse("admin:billing_payout_changelist")),
        _figure(_("Open incidents"), len(incidents), reverse("admin:marketplace_incident_changelist")),
        _figure(_("Ledger"), _ledger_verdict(findings), reverse("admin:billing_posting_changelist"), _("checked just now")),
    ]
    rows = [
        [
            str(KINDS.get(row.kind, row.kind)),
            row.subject,
            said(row.message, row.detail),
            date_format(row.opened_at, "DATETIME_FORMAT"),
        ]
        for row in incidents
    ]
    rows += [[finding.code, finding.subject, finding.detail, ""] for finding in findings]
    table = {"headers": [_("Kind"), _("Subject"), _("Detail"), _("Since")], "rows": rows}
    return {
        **context,
        "figures": figures,
        "table": table,
        "table_title": _("Needs attention"),
        "empty": _("No open incidents, and the ledger is consistent."),
    }


def host_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    owner, now = panel_user(request), clock.now()
    payable, booked = payable_of(owner_id=owner.pk, now=now), reverse("host_panel:billing_usage_changelist")
    payouts = reverse("host_panel:billing_payout_changelist")
    figures = [
        *_supply(list(hosts_of(owner.pk)), reverse("host_panel:marketplace_host_changelist")),
        _figure(_("Earned"), _money(payable.balance_micros), booked, _balance_note(payable)),
        _figure(
            _("Accruing"),
            _money(accrued_earnings(owner_id=owner.pk, now=now)),
            booked,
            _("posted every full hour, and when usage ends"),
        ),
        _figure(
            _("Available to pay out"), _money(payable.payable_micros), reverse("payouts"), _("settled, minus the reserve")
        ),
        _figure(_("In progress"), _money(payable.under_way_micros), payouts),
    ]
    headers = [_("Day"), _("Renters paid"), _("Refunds"), _("Platform fee"), _("Your earnings")]
    return {
        **context,
        "figures": figures,
        "table": {"headers": headers, "rows": _earning_rows(owner.pk, now.date())},
        "table_title": _("Earnings by day"),
        "empty": _("No earnings in 30 days. Add a host and set a price; renters can find it within seconds."),
    }


def _earning_rows(owner_id: UUID, today: date) -> list[list[str]]:
    report = earnings_report(owner_id=owner_id, since=today - timedelta(days=EARNING_DAYS - 1), until=today)
    return [
        [
            date_format(day),
            _money(found.gross_micros),
            _money(found.given_back_micros),
            _money(found.fee_micros),
            _money(found.net_micros),
        ]
        for day, found in sorted(report.by_day().items(), reverse=True)
    ]


def _balance_note(payable: PayableBalance) -> str:
    return _("negative: future earnings cover this first") if payable.owed_micros else _("after the platform fee")


def _supply(hosts: Sequence[Any], href: str) -> list[dict[str, object]]:
    online = sum(host.state == "online" for host in hosts)
    offers = [offer for host in hosts for offer in host.offers.all()]
    free, total = sum(offer.gpu_free for offer in offers), sum(offer.gpu_total for offer in offers)
    return [
        _figure(_("Hosts online"), f"{online} / {len(hosts)}", href),
        _figure(_("GPUs free"), f"{free} / {total}", href),
    ]


def _ledger_verdict(findings: Sequence[Finding]) -> str:
    return _("{count} findings").format(count=len(findings)) if findings else _("consistent")


def _figure(title: str, value: object, href: str, note: str = "") -> dict[str, object]:
    return {"title": title, "value": value, "href": href, "note": note}


def _money(micros: int) -> str:
    """Format an amount to the cent for an overview; the lists have exact amounts."""
    return f"{format_money(divide_half_up(micros, _CENT) * _CENT)} {settings.MARKET_CURRENCY}"
