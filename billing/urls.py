"""Addresses of the money: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from billing import api, views

web_urlpatterns: list[URLPattern] = [
    path("wallet", views.wallet, name="wallet"),
    path("wallet/pill", views.wallet_pill, name="wallet_pill"),
    path("wallet/statement", views.statement, name="statement"),
    path("hosts/earnings", views.earnings, name="earnings"),
]

api_urlpatterns: list[URLPattern] = [
    path("wallet", api.WalletApi.as_view(), name="api_wallet"),
    path("wallet/entries", api.WalletEntriesApi.as_view(), name="api_wallet_entries"),
]
