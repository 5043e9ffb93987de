"""URLs of billing: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from billing.web.invoices import api as invoices_api
from billing.web.invoices import views as invoices_views
from billing.web.ledger import seal_api, seal_views
from billing.web.payments import api as payments_api
from billing.web.payments import views as payments_views
from billing.web.payouts import api as payouts_api
from billing.web.payouts import views as payouts_views
from billing.web.statements import api
from billing.web.statements import views as statements_views
from billing.web.teams import api as teams_api
from billing.web.teams import views as teams_views

web_urlpatterns: list[URLPattern] = [
    path("settings/teams", teams_views.team_list, name="teams"),
    path("settings/teams/join/<str:secret>", teams_views.team_join, name="team_join"),
    path("settings/teams/<str:team_id>", teams_views.team, name="team"),
    path("settings/teams/<str:team_id>/rename", teams_views.team_rename, name="team_rename"),
    path("settings/teams/<str:team_id>/delete", teams_views.team_delete, name="team_delete"),
    path("settings/teams/<str:team_id>/transfer", teams_views.team_transfer, name="team_transfer"),
    path("settings/teams/<str:team_id>/members/<str:member_id>/role", teams_views.member_role, name="member_role"),
    path("settings/teams/<str:team_id>/members/<str:member_id>/remove", teams_views.member_remove, name="member_remove"),
    path("wallet", statements_views.wallet, name="wallet"),
    path("wallet/pill", statements_views.wallet_pill, name="wallet_pill"),
    path("wallet/statement", statements_views.statement, name="statement"),
    path("wallet/statement.csv", statements_views.statement_file, name="statement_file"),
    path("wallet/spend", seal_views.spend, name="spend"),
    path(".well-known/berth-ledger-key", seal_api.ledger_key, name="ledger_key"),
    path("wallet/top-up", payments_views.top_up, name="top_up"),
    path("wallet/top-up/pay", payments_views.top_up_pay, name="top_up_pay"),
    path("wallet/top-up/card", payments_views.save_card, name="save_card"),
    path("wallet/top-up/card/remove", payments_views.remove_card, name="remove_card"),
    path("wallet/top-up/auto", payments_views.auto_rule, name="auto_top_up"),
    path("wallet/top-ups/<str:payment_id>", payments_views.top_up_payment, name="top_up_payment"),
    path("wallet/top-ups/<str:payment_id>/refund", payments_views.refund, name="refund_payment"),
    path("stripe/webhook", payments_views.stripe_webhook, name="stripe_webhook"),
    path("wallet/coupons", invoices_views.coupons, name="coupons"),
    path("wallet/orders", invoices_views.orders, name="orders"),
    path("wallet/invoices", invoices_views.invoices, name="invoices"),
    path("wallet/invoices/<str:invoice_id>", invoices_views.invoice, name="invoice"),
    path("wallet/invoices/<str:invoice_id>/pdf", invoices_views.invoice_file, name="invoice_file"),
    path("wallet/billing-address", invoices_views.billing_address, name="billing_address"),
    path("hosts/payouts", payouts_views.payouts, name="payouts"),
    path("hosts/payouts/ask", payouts_views.payout_ask, name="payout_ask"),
    path("hosts/payouts/account", payouts_views.payout_account, name="payout_account"),
    path("hosts/payouts/connect", payouts_views.payout_connect, name="payout_connect"),
    path("hosts/payouts/connect/return", payouts_views.payout_connect_return, name="payout_connect_return"),
    path("hosts/payouts/connect/refresh", payouts_views.payout_connect_refresh, name="payout_connect_refresh"),
]

api_urlpatterns: list[URLPattern] = [
    path("wallet", api.WalletApi.as_view(), name="api_wallet"),
    path("teams/<str:team_id>/spending", teams_api.TeamSpendingApi.as_view(), name="api_team_spending"),
    path("teams/<str:team_id>/transfers", teams_api.TeamTransfersApi.as_view(), name="api_team_transfers"),
    path("wallet/entries", api.WalletEntriesApi.as_view(), name="api_wallet_entries"),
    path("wallet/entries.csv", invoices_api.WalletCsvApi.as_view(), name="api_wallet_entries_csv"),
    path("wallet/spend", seal_api.SpendApi.as_view(), name="api_wallet_spend"),
    path("usage-records", seal_api.UsageRecordsApi.as_view(), name="api_usage_records"),
    path("seals", seal_api.SealsApi.as_view(), name="api_seals"),
    path("topups", payments_api.TopUpsApi.as_view(), name="api_topups"),
    path("topups/<str:topup_id>", payments_api.TopUpApi.as_view(), name="api_topup"),
    path("coupons", invoices_api.CouponsApi.as_view(), name="api_coupons"),
    path("coupons/redeem", invoices_api.RedeemApi.as_view(), name="api_coupon_redeem"),
    path("orders", invoices_api.OrdersApi.as_view(), name="api_orders"),
    path("invoices", invoices_api.InvoicesApi.as_view(), name="api_invoices"),
    path("invoices/<str:invoice_id>.pdf", invoices_api.InvoicePdfApi.as_view(), name="api_invoice_pdf"),
    path("invoices/<str:invoice_id>", invoices_api.InvoiceApi.as_view(), name="api_invoice"),
    path("payouts", payouts_api.PayoutsApi.as_view(), name="api_payouts"),
    path("payouts/payable", payouts_api.PayableApi.as_view(), name="api_payable"),
    path("payouts/<str:payout_id>", payouts_api.PayoutApi.as_view(), name="api_payout"),
    path("payout-account/onboarding", payouts_api.PayoutOnboardingApi.as_view(), name="api_payout_onboarding"),
    path("payout-account", payouts_api.PayoutAccountApi.as_view(), name="api_payout_account"),
]
