"""Addresses of accounts: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from accounts import api, views

web_urlpatterns: list[URLPattern] = [
    path("settings/profile", views.profile, name="profile"),
    path("settings/security", views.security, name="security"),
    path("settings/ssh-keys", views.ssh_keys, name="ssh_keys"),
    path("settings/ssh-keys/<key_id>/remove", views.ssh_key_remove, name="ssh_key_remove"),
    path("settings/tokens", views.tokens, name="tokens"),
    path("settings/tokens/<token_id>/revoke", views.token_revoke, name="token_revoke"),
]

api_urlpatterns: list[URLPattern] = [
    path("me", api.MeView.as_view(), name="api_me"),
    path("tokens", api.TokensView.as_view(), name="api_tokens"),
    path("tokens/<str:token_id>", api.TokenView.as_view(), name="api_token"),
    path("ssh-keys", api.SshKeysView.as_view(), name="api_ssh_keys"),
    path("ssh-keys/<str:key_id>", api.SshKeyView.as_view(), name="api_ssh_key"),
]
