"""URLs of storage: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from storage.web.images import api, registry_api
from storage.web.volumes import views

web_urlpatterns: list[URLPattern] = [
    path("registry/token", registry_api.registry_token, name="registry_token"),
    path("images", views.images, name="images"),
    path("images/community", views.community, name="community_images"),
    path("images/add", views.image_add, name="image_add"),
    path("images/registries", views.registry_add, name="registry_add"),
    path("images/registries/<str:registry_id>/remove", views.registry_remove, name="registry_remove"),
    path("images/<str:image_id>/remove", views.image_remove, name="image_remove"),
    path("images/<str:image_id>/share", views.image_share, name="image_share"),
    path("images/<str:image_id>/unshare", views.image_unshare, name="image_unshare"),
]

api_urlpatterns: list[URLPattern] = [
    path("images", api.ImagesView.as_view(), name="api_images"),
    path("images/<str:image_id>", api.ImageView.as_view(), name="api_image"),
    path("images/<str:image_id>/share", api.ImageShareView.as_view(), name="api_image_share"),
    path("registries", api.RegistriesView.as_view(), name="api_registries"),
    path("registries/<str:registry_id>", api.RegistryView.as_view(), name="api_registry"),
]
