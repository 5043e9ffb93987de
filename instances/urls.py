"""URLs of instances: pages, and the API below /api/v1."""

from django.urls import URLPattern, path, re_path

from instances.web import api, views
from instances.web.access import api as access_api
from instances.web.access import command_api, stream_api
from instances.web.access import views as access_views
from instances.web.billing_mode import api as billing_mode_api
from instances.web.billing_mode import views as billing_mode_views
from instances.web.earnings import api as earning_api
from instances.web.earnings import views as earning_views
from instances.web.enforcement import api as enforcement_api
from instances.web.enforcement import views as enforcement_views
from instances.web.launch import api as launch_api
from instances.web.launch import views as launch_views
from instances.web.lifecycle import api as lifecycle_api
from instances.web.lifecycle import image_views
from instances.web.lifecycle import views as lifecycle_views
from instances.web.monitoring import banners
from instances.web.monitoring import urls as monitoring_urls
from instances.web.object_sync import urls as object_sync_urls
from instances.web.pricing import api as pricing_api
from instances.web.schedules import api as schedules_api
from instances.web.schedules import views as schedules_views
from instances.web.spot import api as spot_api
from instances.web.spot import views as spot_views
from instances.web.statement_lines import api as statement_lines_api
from instances.web.statement_lines import views as statement_lines_views
from instances.web.transfers import urls
from instances.web.volumes import urls as volumes_urls

web_urlpatterns: list[URLPattern] = [
    *urls.web_urlpatterns,
    *object_sync_urls.web_urlpatterns,
    *volumes_urls.web_urlpatterns,
    *monitoring_urls.web_urlpatterns,
    path("wallet/budgets", enforcement_views.budgets, name="budgets"),
    path("wallet/budgets/<str:budget_id>", enforcement_views.budget_change, name="budget_change"),
    path("wallet/budgets/<str:budget_id>/remove", enforcement_views.budget_remove, name="budget_remove"),
    path("console/banners", banners.banners, name="banners"),
    path("calculator", views.calculator, name="calculator"),
    path("offers/<offer_id>/rent", views.rent, name="rent"),
    path("offers/<offer_id>/rent/quote", views.rent_quote, name="rent_quote"),
    path("offers/<offer_id>/rent/key", views.rent_key, name="rent_key"),
    path("instances", views.instances, name="instances"),
    path("hosts/earnings", earning_views.earnings, name="earnings"),
    path("hosts/earnings.csv", earning_views.earnings_csv, name="earnings_csv"),
    path("wallet/entries/<line_id>", statement_lines_views.statement_line, name="statement_line"),
    path("watches", views.watches, name="watches"),
    path("watches/new", views.watch_new, name="watch_new"),
    path("watches/preview", views.watch_preview, name="watch_preview"),
    path("watches/<watch_id>/cancel", views.watch_cancel, name="watch_cancel"),
    path("instances/<instance_id>", views.instance, name="instance"),
    path("instances/<instance_id>/launch", launch_views.instance_launch, name="instance_launch"),
    path("instances/<instance_id>/schedule", schedules_views.instance_schedule, name="instance_schedule"),
    path("instances/<instance_id>/keep", schedules_views.instance_keep, name="instance_keep"),
    path("instances/<instance_id>/access", access_views.access, name="instance_access"),
    path("instances/<instance_id>/logs", access_views.logs, name="instance_logs"),
    path("instances/<instance_id>/web", access_views.web, name="instance_web_port"),
    path("instances/<instance_id>/web/<int:port>", access_views.web, name="instance_web"),
    path("instances/<instance_id>/terminal", access_views.terminal, name="instance_terminal"),
    path("instances/<instance_id>/files", access_views.files, name="instance_files"),
    path("instances/<instance_id>/bid", spot_views.bid, name="bid"),
    path("instances/<instance_id>/bid/withdraw", spot_views.bid_withdraw, name="bid_withdraw"),
    path("offers/<offer_id>/spot-outlook", spot_views.spot_outlook, name="spot_outlook"),
    path("instances/<instance_id>/change", billing_mode_views.instance_change, name="instance_change"),
    path("instances/<instance_id>/change/quote", billing_mode_views.instance_change_quote, name="instance_change_quote"),
    path("instances/<instance_id>/reimage", lifecycle_views.instance_reimage, name="instance_reimage"),
    path("instances/<instance_id>/keep-root", lifecycle_views.instance_keep_root, name="instance_keep_root"),
    path("instances/<instance_id>/resize", lifecycle_views.instance_resize, name="instance_resize"),
    path("instances/<instance_id>/auto-renew", billing_mode_views.instance_auto_renew, name="instance_auto_renew"),
    path("instances/<instance_id>/report", views.instance_report, name="instance_report"),
    path("instances/<instance_id>/rename", views.instance_rename, name="instance_rename"),
    path("instances/<instance_id>/save-image", image_views.instance_save_image, name="instance_save_image"),
    re_path(
        r"^instances/(?P<instance_id>[^/]+)/(?P<verb>start|start_cpu|stop|restart|release)$",
        views.instance_act,
        name="instance_act",
    ),
]

api_urlpatterns: list[URLPattern] = [
    *urls.api_urlpatterns,
    *monitoring_urls.api_urlpatterns,
    *object_sync_urls.api_urlpatterns,
    *volumes_urls.api_urlpatterns,
    path("hosts/<str:host_id>/earnings", earning_api.HostEarningsView.as_view(), name="api_host_earnings"),
    path("budgets", enforcement_api.BudgetsApi.as_view(), name="api_budgets"),
    path("budgets/<str:budget_id>", enforcement_api.BudgetApi.as_view(), name="api_budget"),
    path("estimates", pricing_api.EstimatesView.as_view(), name="api_estimates"),
    path("quotes", api.QuotesView.as_view(), name="api_quotes"),
    path("quotes/<str:quote_id>", api.QuoteView.as_view(), name="api_quote"),
    path("instances", api.InstancesView.as_view(), name="api_instances"),
    path("instances/<str:instance_id>", api.InstanceView.as_view(), name="api_instance"),
    path("instances/<str:instance_id>/start", api.StartView.as_view(), name="api_instance_start"),
    path("instances/<str:instance_id>/stop", billing_mode_api.StopView.as_view(), name="api_instance_stop"),
    path("instances/<str:instance_id>/convert", billing_mode_api.ConvertView.as_view(), name="api_instance_convert"),
    path("instances/<str:instance_id>/extend", billing_mode_api.ExtendView.as_view(), name="api_instance_extend"),
    path("instances/<str:instance_id>/keep", schedules_api.KeepView.as_view(), name="api_instance_keep"),
    path("instances/<str:instance_id>/bid", spot_api.BidView.as_view(), name="api_instance_bid"),
    path("instances/<str:instance_id>/reimage", lifecycle_api.ReimageView.as_view(), name="api_instance_reimage"),
    path("instances/<str:instance_id>/launch", launch_api.LaunchView.as_view(), name="api_instance_launch"),
    path("instances/<str:instance_id>/resize", lifecycle_api.ResizeView.as_view(), name="api_instance_resize"),
    path("instances/<str:instance_id>/restart", api.RestartView.as_view(), name="api_instance_restart"),
    path(
        "instances/<str:instance_id>/report-fault",
        enforcement_api.FaultReportView.as_view(),
        name="api_instance_report_fault",
    ),
    path("instances/<str:instance_id>/save-image", lifecycle_api.SaveImageView.as_view(), name="api_instance_save_image"),
    path("instances/<str:instance_id>/pull", lifecycle_api.PullView.as_view(), name="api_instance_pull"),
    path("instances/<str:instance_id>/events", api.EventsView.as_view(), name="api_instance_events"),
    path("instances/<str:instance_id>/usage", api.UsageView.as_view(), name="api_instance_usage"),
    path("wallet/entries/<str:line_id>", statement_lines_api.LineView.as_view(), name="api_wallet_entry"),
    path("watches", api.WatchesView.as_view(), name="api_watches"),
    path("watches/<str:watch_id>", api.WatchView.as_view(), name="api_watch"),
    path("instances/<str:instance_id>/access", access_api.AccessView.as_view(), name="api_instance_access"),
    path("instances/<str:instance_id>/password", access_api.PasswordView.as_view(), name="api_instance_password"),
    path("instances/<str:instance_id>/logs", access_api.LogsView.as_view(), name="api_instance_logs"),
    path("instances/<str:instance_id>/exec", command_api.CommandsView.as_view(), name="api_instance_exec"),
    path("instances/<str:instance_id>/exec/<str:command_id>", command_api.CommandView.as_view(), name="api_command"),
    path("instances/<str:instance_id>/streams", stream_api.StreamsView.as_view(), name="api_instance_streams"),
    path("instances/<str:instance_id>/web-links", access_api.WebLinksView.as_view(), name="api_instance_web_links"),
]

# To be listed before the market's URLs, which take any word after /hosts/ for a host.
earnings_api_urlpatterns: list[URLPattern] = [
    path("hosts/earnings", earning_api.EarningsView.as_view(), name="api_earnings"),
]
