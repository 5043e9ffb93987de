"""The API of images."""

from typing import ClassVar

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny

from common.ids import public_id
from storage.models import Image
from storage.selectors import PREFIX, active_images


class ImageOut(serializers.ModelSerializer[Image]):
    """An image that an instance can run."""

    id = serializers.SerializerMethodField(help_text="Quotes take this or the slug")

    class Meta:
        model = Image
        fields: ClassVar = (
            "id",
            "slug",
            "title",
            "description",
            "reference",
            "cuda",
            "has_jupyter",
            "has_tensorboard",
            "official",
        )

    def get_id(self, image: Image) -> str:
        return public_id(PREFIX, image.pk)


class ImagesView(ListAPIView[Image]):
    """The images that an instance can run."""

    permission_classes = (AllowAny,)
    serializer_class = ImageOut
    ordering: ClassVar = ("slug",)

    def get_queryset(self) -> QuerySet[Image]:
        return active_images()
