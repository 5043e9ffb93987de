"""Launch templates and their versions."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common import clock
from common.ids import new_uuid
from common.printable import Printable, PrintableField
from workloads.constants import VERSION_CHARS
from workloads.states import Category, Review, Visibility


class LaunchTemplate(models.Model):
    """What a renter starts from; its versions say what runs. Official ones have no owner.

    A deleted one keeps its versions, since instances name them.
    """

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="launch_templates",
        verbose_name=_("owner"),
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("team")
    )
    slug = models.SlugField(_("short name"), max_length=60)
    title = PrintableField(_("title"), max_length=120)
    icon = PrintableField(_("icon"), max_length=16, blank=True)
    description = PrintableField(_("description"), max_length=300, blank=True)
    category = models.CharField(_("category"), max_length=12, choices=Category, default=Category.OTHER)
    visibility = models.CharField(_("visibility"), max_length=8, choices=Visibility, default=Visibility.PRIVATE)
    newest = models.ForeignKey(
        "TemplateVersion",
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("newest version"),
    )
    published = models.ForeignKey(
        "TemplateVersion",
        on_delete=models.RESTRICT,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("published version"),
        help_text="What others see while the template is public; staff has approved it.",
    )
    share_token = models.CharField(
        max_length=64, blank=True, help_text="Of the link with which anyone sees it; empty: none."
    )
    use_count = models.PositiveIntegerField(_("times rented"), default=0, help_text="Counted by a sweep.")
    created_at = models.DateTimeField(_("created at"), default=clock.now)
    updated_at = models.DateTimeField(_("changed at"), default=clock.now)
    deleted_at = models.DateTimeField(_("deleted at"), null=True, blank=True)

    class Meta:
        verbose_name = _("launch template")
        verbose_name_plural = _("launch templates")
        ordering = ("slug",)
        constraints: ClassVar = [
            Printable(column="title", name="template_title_is_printable"),
            Printable(column="icon", name="template_icon_is_printable"),
            Printable(column="description", name="template_description_is_printable"),
            models.CheckConstraint(condition=Q(visibility__in=Visibility.values), name="template_visibility"),
            models.CheckConstraint(condition=Q(category__in=Category.values), name="template_category"),
            models.UniqueConstraint(
                fields=["owner", "slug"],
                condition=Q(deleted_at__isnull=True),
                nulls_distinct=False,
                name="one_template_per_slug",
            ),
            models.UniqueConstraint(fields=["share_token"], condition=~Q(share_token=""), name="one_template_per_link"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["-use_count"], condition=Q(deleted_at__isnull=True), name="template_by_use"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_official(self) -> bool:
        return self.owner_id is None

    @property
    def shown_title(self) -> str:
        """The title in the reader's language."""
        return self.localized(self.title)

    @property
    def shown_description(self) -> str:
        """The description in the reader's language."""
        return self.localized(self.description)

    def localized(self, text: str) -> str:
        """Return a text of this template in the reader's language: only official ones are translated."""
        return gettext(text) if self.is_official and text else text


class TemplateVersion(models.Model):
    """What a template runs, never changed; `content_hash` is the SHA-256 of `content` as canonical JSON."""

    id = models.UUIDField(primary_key=True, default=new_uuid, editable=False)
    template = models.ForeignKey(
        LaunchTemplate, on_delete=models.CASCADE, related_name="versions", verbose_name=_("launch template")
    )
    number = models.PositiveIntegerField(_("version"))
    content = models.JSONField(_("content"))
    content_hash = models.CharField(_("content hash"), max_length=64)
    image = models.ForeignKey("storage.Image", on_delete=models.PROTECT, related_name="+", verbose_name=_("image"))
    review = models.CharField(_("review"), max_length=9, choices=Review, default=Review.NONE)
    review_reason = PrintableField(_("reason"), max_length=300, blank=True)
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("reviewed by"),
    )
    reviewed_at = models.DateTimeField(_("reviewed at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now)

    class Meta:
        verbose_name = _("template version")
        verbose_name_plural = _("template versions")
        ordering = ("-number",)
        constraints: ClassVar = [
            Printable(column="review_reason", name="template_review_reason_is_printable"),
            models.UniqueConstraint(fields=["template", "number"], name="one_version_per_number"),
            models.UniqueConstraint(fields=["template", "content_hash"], name="one_version_per_content"),
            models.CheckConstraint(condition=Q(content_hash__regex="^[0-9a-f]{64}$"), name="template_hash_form"),
            models.CheckConstraint(condition=Q(review__in=Review.values), name="template_review"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["created_at"], condition=Q(review="submitted"), name="template_in_review"),
        ]

    def __str__(self) -> str:
        return f"{self.template_id} {self.short_hash}"

    @property
    def short_hash(self) -> str:
        return self.content_hash[:VERSION_CHARS]
