"""Images: official, added by name, saved from instances, and shared ones."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.messages.message import MessageField
from common.printable import Printable, PrintableField
from storage.states import ImageSource, ImageState


class Registry(models.Model):
    """A user's login for a private registry.

    The password is encrypted and sent to no one but the host that pulls.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="registries")
    host = models.CharField(_("registry"), max_length=200)
    username = models.CharField(_("user name"), max_length=200)
    sealed_password = models.TextField(help_text="Encrypted: see common/encryption.py.")
    created_at = models.DateTimeField(default=clock.now)
    checked_at = models.DateTimeField(help_text="When the registry last took this login.")

    class Meta:
        verbose_name = _("registry")
        verbose_name_plural = _("registries")
        ordering = ("host",)
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "host"], name="one_login_per_registry"),
        ]

    def __str__(self) -> str:
        return f"{self.username}@{self.host}"


class SharedImage(models.Model):
    """A name in the community list, whose versions are images."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="shared_images")
    slug = models.SlugField(max_length=60, unique=True)
    title = PrintableField(_("title"), max_length=120)
    description = PrintableField(_("description"), max_length=1000, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            Printable(column="title", name="shared_image_title_is_printable"),
            Printable(column="description", name="shared_image_description_is_printable"),
        ]
        verbose_name = _("community image")
        verbose_name_plural = _("community images")
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug


class Image(models.Model):
    """A runnable image.

    `cuda` is the CUDA version it was built for (empty: none needed). Official ones have no owner. The reference of a
    row never changes: a tag that has moved gets a new row, so an instance keeps what it was rented with. `host` is
    set on an image in that host's own store, which can only be rented there.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    title = PrintableField(_("title"), max_length=120)
    description = PrintableField(_("description"), max_length=300, blank=True)
    reference = models.CharField(_("reference"), max_length=400, help_text="What the container engine calls it.")
    cuda = models.CharField(_("CUDA"), max_length=10, blank=True)
    has_jupyter = models.BooleanField(_("has JupyterLab"), default=False)
    has_tensorboard = models.BooleanField(_("has TensorBoard"), default=False)
    has_ssh = models.BooleanField(_("has an SSH server"), default=True, help_text="It starts an SSH server of its own.")
    official = models.BooleanField(_("official"), default=True)
    active = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="images",
        verbose_name=_("owner"),
    )
    source = models.CharField(_("source"), max_length=8, choices=ImageSource, default=ImageSource.OFFICIAL)
    state = models.CharField(_("state"), max_length=8, choices=ImageState, default=ImageState.READY)
    generation = models.PositiveBigIntegerField(_("generation"), default=0)
    named_as = models.CharField(
        _("named after"), max_length=300, blank=True, help_text="The name and tag that its owner gave."
    )
    digest = models.CharField(_("digest"), max_length=80, blank=True)
    size_bytes = models.BigIntegerField(_("size (bytes)"), default=0, help_text="Compressed, as it is pulled; 0: not known.")
    architectures = models.JSONField(_("architectures"), default=list, blank=True)
    checked_at = models.DateTimeField(
        _("checked at"), null=True, blank=True, help_text="When its registry was last asked about the name."
    )
    registry = models.ForeignKey(
        Registry, on_delete=models.SET_NULL, null=True, blank=True, related_name="images", verbose_name=_("registry")
    )
    private = models.BooleanField(_("private"), default=False, help_text="Only a login reads it.")
    host = models.ForeignKey(
        "marketplace.Host", on_delete=models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("host")
    )
    saved_from = models.UUIDField(_("saved from"), null=True, blank=True, help_text="The instance that it was saved from.")
    failure = models.CharField(_("failure"), max_length=300, blank=True)
    failure_message = MessageField()
    shared = models.ForeignKey(
        SharedImage, on_delete=models.SET_NULL, null=True, blank=True, related_name="versions", verbose_name=_("shared as")
    )
    version = models.PositiveIntegerField(_("version"), default=0, help_text="Among the versions of what it is shared as.")
    shared_at = models.DateTimeField(_("shared at"), null=True, blank=True)
    use_count = models.PositiveIntegerField(
        _("times rented"), default=0, help_text="Instances rented with it; counted by a sweep."
    )

    class Meta:
        verbose_name = _("image")
        verbose_name_plural = _("images")
        ordering = ("slug",)
        constraints: ClassVar = [
            Printable(column="title", name="image_title_is_printable"),
            Printable(column="description", name="image_description_is_printable"),
            models.CheckConstraint(condition=Q(cuda__regex=r"^([0-9]+\.[0-9]+)?$"), name="image_cuda_form"),
            models.CheckConstraint(condition=Q(state__in=ImageState.values), name="image_state"),
            models.CheckConstraint(condition=Q(source="official") | Q(owner__isnull=False), name="image_has_owner"),
            models.UniqueConstraint(
                fields=["owner", "reference", "named_as"],
                condition=~Q(state="gone"),
                nulls_distinct=False,
                name="one_image_per_reference",
            ),
            models.UniqueConstraint(
                fields=["shared", "version"], condition=Q(shared__isnull=False), name="one_image_per_version"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["state"], condition=Q(state__in=["saving", "dropping"]), name="image_under_way"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def full_title(self) -> str:
        """Return the title with the CUDA version, in which images of one title differ."""
        return f"{self.title} · CUDA {self.cuda}" if self.cuda and f"CUDA {self.cuda}" not in self.title else self.title


class ImagePull(models.Model):
    """Progress of the pull of one instance's image, as its agent last reported it."""

    instance_id = models.UUIDField(primary_key=True)
    host = models.ForeignKey("marketplace.Host", on_delete=models.CASCADE, related_name="+")
    done_bytes = models.BigIntegerField()
    total_bytes = models.BigIntegerField()
    layers = models.JSONField(help_text="[[id, bytes there, bytes in all, what is done with it], …]")
    at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["at"], name="image_pull_age")]

    def __str__(self) -> str:
        return str(self.instance_id)
