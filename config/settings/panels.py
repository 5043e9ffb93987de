"""Appearance and menus of the two admin panels (django-unfold)."""

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def _link(title: object, icon: str, name: str) -> dict[str, object]:
    return {"title": title, "icon": icon, "link": reverse_lazy(name)}


_FAVICONS = [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("img/logo.svg")}]

# Berth's blue, the same hue as the console's.
_COLORS = {
    "primary": {
        "50": "oklch(97% .014 254.604)",
        "100": "oklch(93.2% .032 255.585)",
        "200": "oklch(88.2% .059 254.128)",
        "300": "oklch(80.9% .105 251.813)",
        "400": "oklch(70.7% .165 254.624)",
        "500": "oklch(62.3% .214 259.815)",
        "600": "oklch(54.6% .245 262.881)",
        "700": "oklch(48.8% .243 264.376)",
        "800": "oklch(42.4% .199 265.638)",
        "900": "oklch(37.9% .146 265.522)",
        "950": "oklch(28.2% .091 267.935)",
    },
}

_STYLES = [lambda request: static("css/panels.css")]

UNFOLD = {
    "SITE_TITLE": _("Berth staff"),
    "SITE_HEADER": _("Berth staff"),
    "SITE_SYMBOL": "anchor",
    "SITE_FAVICONS": _FAVICONS,
    "STYLES": _STYLES,
    "SHOW_LANGUAGES": True,
    "COLORS": _COLORS,
    "DASHBOARD_CALLBACK": "config.admin_dashboards.staff_dashboard",
    "SIDEBAR": {
        "show_search": False,
        "navigation": [
            {
                "title": _("Market"),
                "items": [
                    _link(_("Hosts"), "dns", "admin:marketplace_host_changelist"),
                    _link(_("Offers"), "sell", "admin:marketplace_offer_changelist"),
                    _link(_("Leases"), "lock", "admin:marketplace_lease_changelist"),
                    _link(_("Instances"), "deployed_code", "admin:instances_instance_changelist"),
                    _link(_("Images"), "layers", "admin:storage_image_changelist"),
                    _link(_("Launch templates"), "dashboard", "admin:workloads_launchtemplate_changelist"),
                    _link(_("Template versions"), "rule", "admin:workloads_templateversion_changelist"),
                    _link(_("Volumes"), "hard_drive", "admin:storage_volume_changelist"),
                    _link(_("Snapshots"), "photo_camera", "admin:storage_snapshot_changelist"),
                    _link(_("Public datasets"), "public", "admin:storage_dataset_changelist"),
                    _link(_("Reliability events"), "fact_check", "admin:marketplace_reliabilityevent_changelist"),
                    _link(_("Maintenance"), "build", "admin:marketplace_maintenance_changelist"),
                    _link(_("Incidents"), "report", "admin:marketplace_incident_changelist"),
                    _link(_("Epochs"), "restore", "admin:marketplace_epoch_changelist"),
                ],
            },
            {
                "title": _("Money"),
                "items": [
                    _link(_("Wallets"), "account_balance_wallet", "admin:billing_wallet_changelist"),
                    _link(_("Grants"), "redeem", "admin:billing_grant_changelist"),
                    _link(_("Journal entries"), "receipt_long", "admin:billing_posting_changelist"),
                    _link(_("Meters"), "speed", "admin:billing_meter_changelist"),
                    _link(_("Holds"), "pause_circle", "admin:billing_hold_changelist"),
                    _link(_("Ledger checks"), "fact_check", "admin:billing_ledgeraudit_changelist"),
                    _link(_("Seals"), "link", "admin:billing_seal_changelist"),
                    _link(_("Card payments"), "add_card", "admin:billing_payment_changelist"),
                    _link(_("Refunds"), "undo", "admin:billing_refund_changelist"),
                    _link(_("Disputes"), "gavel", "admin:billing_dispute_changelist"),
                    _link(_("Stripe events"), "webhook", "admin:billing_stripeevent_changelist"),
                    _link(_("Reconciliations"), "balance", "admin:billing_reconciliation_changelist"),
                    _link(_("Payouts"), "account_balance", "admin:billing_payout_changelist"),
                    _link(_("Payout accounts"), "credit_card", "admin:billing_payoutaccount_changelist"),
                    _link(_("Account links"), "group", "admin:billing_accountlink_changelist"),
                    _link(_("Coupon codes"), "confirmation_number", "admin:billing_couponcode_changelist"),
                    _link(_("Coupons"), "local_activity", "admin:billing_coupon_changelist"),
                    _link(_("Orders"), "shopping_cart", "admin:billing_order_changelist"),
                    _link(_("Invoices"), "description", "admin:billing_invoice_changelist"),
                ],
            },
            {
                "title": _("People and agents"),
                "items": [
                    _link(_("Users"), "group", "admin:accounts_user_changelist"),
                    _link(_("API tokens"), "key", "admin:accounts_apitoken_changelist"),
                    _link(_("SSH keys"), "terminal", "admin:accounts_sshkey_changelist"),
                    _link(_("Account log"), "history", "admin:accounts_accountevent_changelist"),
                    _link(_("Outgoing email"), "mail", "admin:accounts_outgoingmail_changelist"),
                    _link(_("Agents"), "robot_2", "admin:agent_gateway_agentidentity_changelist"),
                    _link(_("Refused messages"), "gpp_bad", "admin:agent_gateway_refusedmessage_changelist"),
                ],
            },
        ],
    },
}

UNFOLD_HOST = {
    "SITE_TITLE": _("Host panel"),
    "SITE_HEADER": _("Host panel"),
    "SITE_SYMBOL": "anchor",
    "SITE_FAVICONS": _FAVICONS,
    "STYLES": _STYLES,
    "SHOW_LANGUAGES": True,
    "COLORS": _COLORS,
    "DASHBOARD_CALLBACK": "config.admin_dashboards.host_dashboard",
    "SIDEBAR": {
        "show_search": False,
        "navigation": [
            {
                "title": _("My resources"),
                "items": [
                    _link(_("Overview"), "monitoring", "host_panel:index"),
                    _link(_("Hosts"), "dns", "host_panel:marketplace_host_changelist"),
                    _link(_("Offers and prices"), "sell", "host_panel:marketplace_offer_changelist"),
                    _link(_("Instances on my hosts"), "deployed_code", "host_panel:instances_instance_changelist"),
                    _link(_("Maintenance"), "build", "host_panel:marketplace_maintenance_changelist"),
                    _link(_("Reliability events"), "fact_check", "host_panel:marketplace_reliabilityevent_changelist"),
                    _link(_("Add host"), "add_circle", "host_panel:marketplace_jointoken_add"),
                    _link(_("Earnings"), "payments", "host_panel:billing_usage_changelist"),
                    _link(_("Payouts"), "account_balance", "host_panel:billing_payout_changelist"),
                    _link(_("Payout account"), "credit_card", "host_panel:billing_payoutaccount_changelist"),
                ],
            },
        ],
    },
}
