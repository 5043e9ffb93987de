"""Addresses of storage: the API below /api/v1."""

from django.urls import URLPattern, path

from storage import api

web_urlpatterns: list[URLPattern] = []

api_urlpatterns: list[URLPattern] = [path("images", api.ImagesView.as_view(), name="api_images")]
