"""URLs of accounts: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from accounts.web.device_logins import api as device_logins_api
from accounts.web.device_logins import views as device_logins_views
from accounts.web.event_log import api as event_log_api
from accounts.web.event_log import views as event_log_views
from accounts.web.notification_channels import api as channels_api
from accounts.web.notification_channels import views as channels_views
from accounts.web.teams import api as teams_api
from accounts.web.users import api, views
from accounts.web.webhooks import api as webhooks_api
from accounts.web.webhooks import views as webhooks_views

web_urlpatterns: list[URLPattern] = [
    path("settings/profile", views.profile, name="profile"),
    path("settings/security", event_log_views.security, name="security"),
    path("settings/security/sessions/end", event_log_views.sessions_end, name="sessions_end"),
    path("settings/security/sessions/<session_id>/end", event_log_views.session_end, name="session_end"),
    path("settings/log", event_log_views.account_events, name="account_events"),
    path("settings/log.csv", event_log_views.account_events_file, name="account_events_file"),
    path("settings/ssh-keys", views.ssh_keys, name="ssh_keys"),
    path("settings/ssh-keys/<key_id>/remove", views.ssh_key_remove, name="ssh_key_remove"),
    path("settings/tokens", views.tokens, name="tokens"),
    path("settings/tokens/<token_id>/revoke", views.token_revoke, name="token_revoke"),
    path("device", device_logins_views.device, name="device"),
    path("settings/webhooks", webhooks_views.webhooks, name="webhooks"),
    path("settings/webhooks/<webhook_id>", webhooks_views.webhook, name="webhook"),
    path("settings/webhooks/<webhook_id>/deliveries", webhooks_views.deliveries, name="webhook_deliveries"),
    path("settings/webhooks/<webhook_id>/test", webhooks_views.webhook_test, name="webhook_test"),
    path("settings/webhooks/<webhook_id>/rotate", webhooks_views.webhook_rotate, name="webhook_rotate"),
    path("settings/webhooks/<webhook_id>/pause", webhooks_views.webhook_pause, name="webhook_pause"),
    path("settings/webhooks/<webhook_id>/resume", webhooks_views.webhook_resume, name="webhook_resume"),
    path("settings/webhooks/<webhook_id>/remove", webhooks_views.webhook_remove, name="webhook_remove"),
    path(
        "settings/webhooks/<webhook_id>/deliveries/<delivery_id>/again", webhooks_views.webhook_again, name="webhook_again"
    ),
    path("settings/notifications", channels_views.channels, name="notification_channels"),
    path("settings/notifications/add/<service>", channels_views.channel_add, name="notification_channel_add"),
    path("settings/notifications/<channel_id>", channels_views.channel, name="notification_channel"),
    path("settings/notifications/<channel_id>/log", channels_views.channel_log, name="notification_log"),
    path("settings/notifications/<channel_id>/test", channels_views.channel_test, name="notification_test"),
    path("settings/notifications/<channel_id>/pause", channels_views.channel_pause, name="notification_pause"),
    path("settings/notifications/<channel_id>/resume", channels_views.channel_resume, name="notification_resume"),
    path("settings/notifications/<channel_id>/remove", channels_views.channel_remove, name="notification_remove"),
    path(
        "settings/notifications/<channel_id>/log/<delivery_id>/again",
        channels_views.notification_again,
        name="notification_again",
    ),
]

api_urlpatterns: list[URLPattern] = [
    path("teams", teams_api.TeamsView.as_view(), name="api_teams"),
    path("teams/join", teams_api.TeamJoinView.as_view(), name="api_team_join"),
    path("teams/<str:team_id>", teams_api.TeamView.as_view(), name="api_team"),
    path("teams/<str:team_id>/members", teams_api.TeamMembersView.as_view(), name="api_team_members"),
    path("teams/<str:team_id>/members/<str:member_id>", teams_api.TeamMemberView.as_view(), name="api_team_member"),
    path("webhooks", webhooks_api.WebhooksView.as_view(), name="api_webhooks"),
    path("webhooks/<str:webhook_id>", webhooks_api.WebhookView.as_view(), name="api_webhook"),
    path("webhooks/<str:webhook_id>/rotate", webhooks_api.WebhookRotateView.as_view(), name="api_webhook_rotate"),
    path("webhooks/<str:webhook_id>/test", webhooks_api.WebhookTestView.as_view(), name="api_webhook_test"),
    path("webhooks/<str:webhook_id>/deliveries", webhooks_api.DeliveriesView.as_view(), name="api_webhook_deliveries"),
    path(
        "webhooks/<str:webhook_id>/deliveries/<str:delivery_id>/again",
        webhooks_api.DeliveryAgainView.as_view(),
        name="api_webhook_again",
    ),
    path("notification-channels", channels_api.ChannelsView.as_view(), name="api_channels"),
    path("notification-channels/<str:channel_id>", channels_api.ChannelView.as_view(), name="api_channel"),
    path("notification-channels/<str:channel_id>/test", channels_api.ChannelTestView.as_view(), name="api_channel_test"),
    path(
        "notification-channels/<str:channel_id>/deliveries",
        channels_api.NotificationsView.as_view(),
        name="api_channel_deliveries",
    ),
    path(
        "notification-channels/<str:channel_id>/deliveries/<str:notification_id>",
        channels_api.NotificationView.as_view(),
        name="api_channel_delivery",
    ),
    path(
        "notification-channels/<str:channel_id>/deliveries/<str:notification_id>/again",
        channels_api.NotificationAgainView.as_view(),
        name="api_channel_again",
    ),
    path("me", api.MeView.as_view(), name="api_me"),
    path("account-events", event_log_api.EventsView.as_view(), name="api_account_events"),
    path("tokens", api.TokensView.as_view(), name="api_tokens"),
    path("tokens/<str:token_id>", api.TokenView.as_view(), name="api_token"),
    path("device-logins", device_logins_api.DeviceLoginsView.as_view(), name="api_device_logins"),
    path("device-logins/token", device_logins_api.DeviceTokensView.as_view(), name="api_device_token"),
    path("ssh-keys", api.SshKeysView.as_view(), name="api_ssh_keys"),
    path("ssh-keys/<str:key_id>", api.SshKeyView.as_view(), name="api_ssh_key"),
]
