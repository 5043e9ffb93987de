"""URL configuration by app: pages, API, agents, operations."""

from django.urls import include, path

from accounts.urls import api_urlpatterns as accounts_api
from accounts.urls import web_urlpatterns as accounts_web
from accounts.web.admin_sites import host_panel, staff_panel
from agents.gateway.urls import agent_urlpatterns
from billing.urls import api_urlpatterns as billing_api
from billing.urls import web_urlpatterns as billing_web
from config import console, health, page_events
from config.client_wheel import download_urlpatterns
from config.market_sources import MARKET_IMAGES, place_of_volume
from instances.urls import api_urlpatterns as instances_api
from instances.urls import earnings_api_urlpatterns
from instances.urls import web_urlpatterns as instances_web
from marketplace.urls import api_urlpatterns as marketplace_api
from marketplace.urls import market_urlpatterns, search_urlpatterns
from marketplace.urls import web_urlpatterns as marketplace_web
from storage.images.selectors import image_needs
from storage.urls import api_urlpatterns as storage_api
from storage.urls import web_urlpatterns as storage_web
from vast.urls import v0_urlpatterns as vast_v0
from vast.urls import v1_urlpatterns as vast_v1
from workloads.urls import api_urlpatterns as workloads_api
from workloads.urls import web_urlpatterns as workloads_web

handler400 = "config.problems.bad_request"
handler403 = "config.problems.permission_denied"
handler404 = "config.problems.page_not_found"
handler429 = "config.problems.too_many_requests"  # allauth's limits
handler500 = "config.problems.server_error"

api_urlpatterns = [
    path("openapi.json", console.openapi_json, name="openapi"),
    path("live", page_events.LiveView.as_view(), name="api_live"),
    *search_urlpatterns(image_needs, place_of_volume),
    *earnings_api_urlpatterns,
    *marketplace_api,
    *instances_api,
    *workloads_api,
    *storage_api,
    *billing_api,
    *accounts_api,
]

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("api/v1/", include([*api_urlpatterns, *vast_v1])),
    path("api/v0/", include(vast_v0)),
    path("agent/v1/", include(agent_urlpatterns)),
    path("admin/", staff_panel.urls),
    path("host-panel/", host_panel.urls),
    path("accounts/", include("allauth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    *market_urlpatterns(MARKET_IMAGES),
    *marketplace_web,
    *instances_web,
    *workloads_web,
    *storage_web,
    *billing_web,
    *accounts_web,
    *console.web_urlpatterns,
    *download_urlpatterns,
]
