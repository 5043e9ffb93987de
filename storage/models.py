"""Images that instances run."""

from typing import ClassVar

from django.db import models

from common import clock
from common.ids import new_uuid


class Image(models.Model):
    """A runnable image. `cuda` is the version it was built for (empty: none needed). Official ones bring sshd."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=120)
    description = models.CharField(max_length=300, blank=True)
    reference = models.CharField(max_length=255, unique=True, help_text="What the container engine calls it.")
    cuda = models.CharField(max_length=10, blank=True)
    has_jupyter = models.BooleanField(default=False)
    has_tensorboard = models.BooleanField(default=False)
    official = models.BooleanField(default=True)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        ordering = ("slug",)
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(cuda__regex=r"^([0-9]+\.[0-9]+)?$"), name="image_cuda_form")
        ]

    def __str__(self) -> str:
        return self.title
