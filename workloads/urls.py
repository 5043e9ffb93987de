"""URLs of workloads: pages, and the API below /api/v1."""

from workloads.web.templates import urls

web_urlpatterns = [*urls.web_urlpatterns]
api_urlpatterns = [*urls.api_urlpatterns]
