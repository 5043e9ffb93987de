"""URLs of launch templates."""

from django.urls import URLPattern, path

from workloads.web.templates import api, views

web_urlpatterns: list[URLPattern] = [
    path("templates", views.templates, name="templates"),
    path("templates/new", views.template_new, name="template_new"),
    path("templates/import", views.template_import, name="template_import"),
    path("templates/<str:template_id>", views.template, name="template"),
    path("templates/<str:template_id>/edit", views.template_edit, name="template_edit"),
    path("templates/<str:template_id>/visibility", views.template_visibility, name="template_visibility"),
    path("templates/<str:template_id>/link", views.template_link, name="template_link"),
    path("templates/<str:template_id>/delete", views.template_delete, name="template_delete"),
]

api_urlpatterns: list[URLPattern] = [
    path("launch-templates", api.TemplatesView.as_view(), name="api_launch_templates"),
    path("launch-templates/import", api.TemplateImportView.as_view(), name="api_launch_template_import"),
    path("launch-templates/<str:template_id>", api.TemplateView.as_view(), name="api_launch_template"),
    path("launch-templates/<str:template_id>/versions", api.TemplateVersionsView.as_view(), name="api_template_versions"),
    path("launch-templates/<str:template_id>/render", api.TemplateRenderView.as_view(), name="api_template_render"),
]
