"""What the two panels show first: the market at a glance for staff, supply and earnings for a host owner."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.panels import signed_in
from billing.selectors import Finding, earnings_of, ledger_findings
from common.ids import public_id
from common.money import format_money
from marketplace.selectors.hosts import all_hosts, hosts_of
from marketplace.selectors.incidents import open_incidents

EARNING_ROWS = 20
ID_SHOWN = 13  # of an instance's id, as the console shortens it; more would not fit a phone


def staff_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    hosts, incidents, findings = list(all_hosts()), list(open_incidents()), ledger_findings()
    figures = [
        *_supply(hosts, reverse("admin:marketplace_host_changelist")),
        _figure(_("Open incidents"), len(incidents), reverse("admin:marketplace_incident_changelist")),
        _figure(_("Ledger"), _ledger_verdict(findings), reverse("admin:billing_posting_changelist"), _("checked just now")),
    ]
    rows = [[row.kind, row.subject, row.detail, date_format(row.opened_at, "DATETIME_FORMAT")] for row in incidents]
    rows += [[finding.code, finding.subject, finding.detail, ""] for finding in findings]
    table = {"headers": [_("Kind"), _("Subject"), _("Detail"), _("Since")], "rows": rows}
    return {
        **context,
        "figures": figures,
        "table": table,
        "table_title": _("What needs a person"),
        "empty": _("Nothing: no open incident, and the ledger adds up."),
    }


def host_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    owner = signed_in(request)
    earnings = earnings_of(owner_id=owner.pk)
    paid = reverse("host_panel:billing_entry_changelist")
    figures = [
        *_supply(list(hosts_of(owner.pk)), reverse("host_panel:marketplace_host_changelist")),
        _figure(_("Earned"), _money(earnings.balance_micros), paid, _("after the platform fee")),
        _figure(_("Accruing now"), _money(earnings.accrued_micros), paid, _("posted when the hour is full or the use ends")),
    ]
    rows = [
        [
            date_format(line.day),
            f"{public_id('inst', line.source_id)[:ID_SHOWN]}…" + (f" ({_('given back')})" if line.is_given_back else ""),
            _money(line.charge_micros),
            _money(line.fee_micros),
            _money(line.share_micros),
        ]
        for line in earnings.lines[:EARNING_ROWS]
    ]
    headers = [_("Day"), _("Instance"), _("Renter paid"), _("Platform fee"), _("You earned")]
    return {
        **context,
        "figures": figures,
        "table": {"headers": headers, "rows": rows},
        "table_title": _("Earnings by day"),
        "empty": _("Nothing earned yet. Enrol a host and set a price: renters find it within seconds."),
    }


def _supply(hosts: Sequence[Any], href: str) -> list[dict[str, object]]:
    online = sum(host.state == "online" for host in hosts)
    offers = [offer for host in hosts for offer in host.offers.all()]
    free, total = sum(offer.gpu_free for offer in offers), sum(offer.gpu_total for offer in offers)
    return [
        _figure(_("Hosts online"), f"{online} / {len(hosts)}", href),
        _figure(_("GPUs free"), f"{free} / {total}", href),
    ]


def _ledger_verdict(findings: Sequence[Finding]) -> str:
    return _("{count} findings").format(count=len(findings)) if findings else _("adds up")


def _figure(title: str, value: object, href: str, note: str = "") -> dict[str, object]:
    return {"title": title, "value": value, "href": href, "note": note}


def _money(micros: int) -> str:
    return f"{format_money(micros)} {settings.MARKET_CURRENCY}"
