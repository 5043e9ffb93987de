"""Requests and responses about launch templates."""

from datetime import datetime
from typing import Annotated, Any

from rest_framework import serializers

from accounts.models import User
from common.http.fields import NameText
from common.ids import public_id
from common.resources import OneOf, resource
from instances.launch.settings import LaunchSettings
from instances.launch.templates import OrderTemplate
from instances.web.launch.serializers import LaunchFields, LaunchOut, ReadinessOut
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import Category, InputKind, PortProtocol, Review, Visibility
from workloads.templates.imports import ImportPreview
from workloads.templates.orders import settings_in
from workloads.templates.selectors import template_key

SOURCES = ("official", "own", "team", "public")


class InputIn(serializers.Serializer[Any]):
    """A value that renters enter; it becomes an environment variable, or a secret."""

    name = serializers.CharField(max_length=255)
    label = serializers.CharField(max_length=120, required=False, allow_blank=True)  # type: ignore[assignment]  # a field
    kind = serializers.ChoiceField(choices=InputKind.values, default=InputKind.TEXT)
    default = serializers.CharField(required=False, allow_blank=True)
    required = serializers.BooleanField(default=False)  # type: ignore[assignment]  # as above
    choices = serializers.ListField(child=serializers.CharField(), required=False)


class PortIn(serializers.Serializer[Any]):
    """A port published in addition to the image's own."""

    port = serializers.IntegerField(min_value=1, max_value=65_535)
    name = serializers.CharField(max_length=40, required=False, allow_blank=True)
    protocol = serializers.ChoiceField(choices=PortProtocol.values, default=PortProtocol.HTTP)


class ContentIn(serializers.Serializer[Any]):
    """What a version runs; it is stored by the SHA-256 of its content and never changed."""

    image = serializers.CharField(max_length=255, help_text="Slug or img_…: official, community, or your own")
    launch = LaunchFields(required=False, help_text="`secrets`: a list of names; a template never stores their values")
    inputs = serializers.ListField(child=serializers.JSONField(), required=False, help_text="At most 30")
    ports = serializers.ListField(child=serializers.JSONField(), required=False)
    filter = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, help_text="Search query that selects suitable offers"
    )
    min_vram_gb = serializers.IntegerField(required=False, allow_null=True)
    min_cuda = serializers.CharField(required=False, allow_blank=True, allow_null=True, help_text="Such as 12.4")
    min_driver = serializers.CharField(required=False, allow_blank=True, allow_null=True, help_text="Such as 550.54")
    data_disk_gb = serializers.IntegerField(required=False, allow_null=True)
    readme = serializers.CharField(
        required=False, allow_blank=True, allow_null=True, trim_whitespace=False, help_text="Markdown, at most 64 KiB"
    )


class TemplateIn(ContentIn):
    """A template with its first version."""

    title = NameText(max_length=120)
    slug = serializers.CharField(
        max_length=60, required=False, allow_blank=True, help_text="Default: derived from the title"
    )
    icon = serializers.CharField(max_length=16, required=False, allow_blank=True, help_text="One of the predefined icons")
    description = NameText(max_length=300, required=False, allow_blank=True)
    category = serializers.ChoiceField(choices=Category.values, default=Category.OTHER)


class TemplatePatch(serializers.Serializer[Any]):
    """Fields to change; omitted fields stay unchanged. Content is changed by adding a version."""

    title = NameText(max_length=120, required=False)
    icon = serializers.CharField(max_length=16, required=False, allow_blank=True)
    description = NameText(max_length=300, required=False, allow_blank=True)
    category = serializers.ChoiceField(choices=Category.values, required=False)
    visibility = serializers.ChoiceField(
        choices=Visibility.values, required=False, help_text="public: shown to everyone once staff has approved it"
    )
    team = serializers.CharField(required=False, allow_null=True, help_text="team_…; required with the visibility team")
    share_link = serializers.BooleanField(required=False, help_text="true: a new link; false: none")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Say what to change.")
        return attrs


class TemplatesQuery(serializers.Serializer[Any]):
    source = serializers.ChoiceField(SOURCES, required=False, help_text="Default: all")  # type: ignore[assignment]  # a field
    category = serializers.ChoiceField(Category.values, required=False)
    q = serializers.CharField(max_length=100, required=False, allow_blank=True, help_text="Search in title and description")


class RenderIn(LaunchFields):
    """Inputs and launch settings to preview."""

    version = serializers.CharField(max_length=64, required=False, help_text="Default: the current version")
    inputs = serializers.DictField(required=False, allow_null=True)


class ImportIn(serializers.Serializer[Any]):
    line = serializers.CharField(max_length=32_768, help_text="A docker run command, or the name of an image")


@resource
class InputOut:
    """A value that renters enter."""

    name: str
    label: str
    kind: Annotated[str, OneOf(InputKind.values)]
    default: str
    required: bool
    choices: list[str]


@resource
class PortOut:
    """A port published in addition to the image's own."""

    port: int
    name: str
    protocol: Annotated[str, OneOf(PortProtocol.values)]


@resource
class VersionOut:
    """What a version runs; it never changes."""

    version: Annotated[str, "The first digits of the hash; orders name it after an @"]
    number: int
    content_hash: Annotated[str, "SHA-256 of the content as canonical JSON"]
    image: Annotated[str, "Slug"]
    launch: LaunchOut
    inputs: list[InputOut]
    ports: list[PortOut]
    filter: str
    min_vram_gb: int | None
    min_cuda: str
    min_driver: str
    data_disk_gb: int | None
    readme: str
    review: Annotated[str | None, OneOf(Review.values), "Only visible to the owner"]
    review_reason: str | None
    created_at: datetime


@resource
class TemplateOut:
    """A launch template."""

    id: str
    slug: str
    title: str
    icon: str
    description: str
    category: Annotated[str, OneOf(Category.values)]
    official: bool
    own: bool
    owner: Annotated[str | None, "The owner's display name"]
    visibility: Annotated[str, OneOf(Visibility.values)]
    team: str | None
    share_token: Annotated[str | None, "Token of the share link; only visible to the owner"]
    use_count: Annotated[int, "Number of instances rented with it"]
    version: VersionOut
    created_at: datetime
    updated_at: datetime


@resource
class RenderOut:
    """What an order would run."""

    template: str
    version: str
    image: str
    launch: LaunchOut
    ports: list[int]
    data_disk_gb: int | None


@resource
class NoteOut:
    """An ignored option, and why."""

    option: str
    detail: str


@resource
class ImportOut:
    """What would become of the line; nothing is stored."""

    title: str
    image: Annotated[str, "The name in its registry; add it as an image before you save the template"]
    digest: str
    launch: LaunchOut
    inputs: list[InputOut]
    ports: list[PortOut]
    notes: list[NoteOut]


def settings_resource(settings: LaunchSettings) -> LaunchOut:
    shown = settings.public_resource()
    ready = shown.pop("readiness")
    return LaunchOut(**shown, readiness=None if ready is None else ReadinessOut(**ready))


def version_resource(version: TemplateVersion, *, own: bool) -> VersionOut:
    content = version.content
    same = ("image", "filter", "min_vram_gb", "min_cuda", "min_driver", "data_disk_gb", "readme")
    return VersionOut(
        version=version.short_hash,
        number=version.number,
        content_hash=version.content_hash,
        launch=settings_resource(settings_in(content)),
        inputs=[InputOut(**row) for row in content["inputs"]],
        ports=[PortOut(**row) for row in content["ports"]],
        review=version.review if own else None,
        review_reason=version.review_reason or None if own else None,
        created_at=version.created_at,
        **{name: content[name] for name in same},
    )


def template_resource(template: LaunchTemplate, version: TemplateVersion, user: User | None) -> TemplateOut:
    own = user is not None and template.owner_id == user.pk
    return TemplateOut(
        id=template_key(template),
        slug=template.slug,
        title=template.title,
        icon=template.icon,
        description=template.shown_description,
        category=template.category,
        official=template.is_official,
        own=own,
        owner=template.owner.display_name if template.owner else None,
        visibility=template.visibility,
        team=public_id("team", template.team_id) if own and template.team_id else None,
        share_token=template.share_token or None if own else None,
        use_count=template.use_count,
        version=version_resource(version, own=own),
        created_at=template.created_at,
        updated_at=template.updated_at,
    )


def render_resource(template: OrderTemplate, settings: LaunchSettings) -> RenderOut:
    return RenderOut(
        template=template.id,
        version=template.version,
        image=template.image,
        launch=settings_resource(settings),
        ports=list(template.ports),
        data_disk_gb=template.data_disk_gb,
    )


def import_resource(preview: ImportPreview, content: dict[str, Any]) -> ImportOut:
    return ImportOut(
        title=preview.title,
        image=preview.read.image,
        digest=preview.examined.found.digest,
        launch=settings_resource(settings_in(content)),
        inputs=[InputOut(**row) for row in content["inputs"]],
        ports=[PortOut(**row) for row in content["ports"]],
        notes=[NoteOut(option=option, detail=detail) for option, detail in preview.read.notes],
    )
