"""Serializers of images, registry logins and image pulls."""

from datetime import datetime
from typing import Annotated, Any, Final

from rest_framework import serializers

from accounts.models import User
from common.http.fields import NameText
from common.ids import public_id
from common.resources import OneOf, resource
from storage.images.selectors import PREFIX, REGISTRY_PREFIX
from storage.models import Image, ImagePull, Registry
from storage.states import ImageSource, ImageState

LAYER_STEPS: Final = ("waiting", "downloading", "downloaded", "unpacking", "ready")
SOURCES: Final = ("official", "own", "community")


class ImageIn(serializers.Serializer[Any]):
    name = NameText(max_length=255, help_text="As for docker pull: pytorch/pytorch:2.4.0")
    title = NameText(max_length=120, required=False, default="", allow_blank=True)
    description = NameText(max_length=300, required=False, default="", allow_blank=True)


class ShareIn(serializers.Serializer[Any]):
    name = NameText(max_length=60, help_text="Name in the community list; reusing one of your names creates a new version")
    title = NameText(max_length=120, required=False, default="", allow_blank=True)
    description = NameText(max_length=1000, required=False, default="", allow_blank=True)


class RegistryIn(serializers.Serializer[Any]):
    host = serializers.CharField(max_length=200, help_text="For example, registry.example.com, or docker.io for Docker Hub")
    username = serializers.CharField(max_length=200)
    password = serializers.CharField(
        max_length=4000, trim_whitespace=False, help_text="Password or access token. Stored encrypted"
    )


class SaveImageIn(serializers.Serializer[Any]):
    name = NameText(max_length=60)
    description = NameText(max_length=300, required=False, default="", allow_blank=True)


class ImagesQuery(serializers.Serializer[Any]):
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a field of the query, not where this one reads from
        SOURCES, required=False, help_text="Default: everything you can run"
    )


@resource
class CommunityOut:
    """Name and version under which an image is shared."""

    name: str
    title: str
    description: str
    version: int
    owner: Annotated[str, "The owner's display name"]
    shared_at: datetime | None


@resource
class ImageOut:
    """An image that an instance can run."""

    id: Annotated[str, "Use this or the slug in quotes"]
    slug: str
    title: str
    description: str
    reference: Annotated[str, "Reference that the host pulls: by digest, unless it is an official image"]
    name: Annotated[str | None, "For images added by name: the name and tag"]
    cuda: Annotated[str, "Required CUDA version; empty: none"]
    has_ssh: Annotated[bool, "It starts its own SSH server; otherwise the host's agent provides SSH"]
    has_jupyter: bool
    has_tensorboard: bool
    official: bool
    own: bool
    source: Annotated[str, OneOf(ImageSource.choices)]
    state: Annotated[str, OneOf(ImageState.choices)]
    digest: str | None
    size_bytes: Annotated[int | None, "Compressed size; for a saved image on its host, the full size"]
    architectures: list[str]
    private: Annotated[bool, "Pulled with a saved registry login"]
    host: Annotated[str | None, "Stored on this host; can only be used there"]
    community: CommunityOut | None
    use_count: Annotated[int, "Number of instances rented with it"]
    failure: str | None
    created_at: datetime
    checked_at: Annotated[datetime | None, "When its name was last looked up in the registry"]


@resource
class RegistryOut:
    """A saved login.

    The password is never shown.
    """

    id: str
    host: str
    username: str
    checked_at: datetime
    created_at: datetime


@resource
class LayerOut:
    """Progress of one layer."""

    id: str
    done_bytes: int
    total_bytes: int
    step: Annotated[str, OneOf((*LAYER_STEPS, ""))]


@resource
class PullOut:
    """Progress of the pull of an instance's image.

    Without layers, no pull is running.
    """

    done_bytes: int
    total_bytes: Annotated[int, "Size of all layers known so far"]
    layers: list[LayerOut]
    at: datetime | None


def image_resource(image: Image, user: User | None) -> ImageOut:
    own = user is not None and image.owner_id == user.pk
    return ImageOut(
        id=public_id(PREFIX, image.pk),
        slug=image.slug,
        title=image.title,
        description=image.description,
        reference=image.reference,
        name=image.named_as or None,
        cuda=image.cuda,
        has_ssh=image.has_ssh,
        has_jupyter=image.has_jupyter,
        has_tensorboard=image.has_tensorboard,
        official=image.source == ImageSource.OFFICIAL,
        own=own,
        source=image.source,
        state=image.state,
        digest=image.digest or None,
        size_bytes=image.size_bytes or None,
        architectures=image.architectures,
        private=image.private,
        host=public_id("host", image.host_id) if image.host_id else None,
        community=_community(image),
        use_count=image.use_count,
        failure=image.failure or None if own else None,
        created_at=image.created_at,
        checked_at=image.checked_at,
    )


def _community(image: Image) -> CommunityOut | None:
    shared = image.shared
    if shared is None or image.owner is None:
        return None
    return CommunityOut(
        name=shared.slug,
        title=shared.title,
        description=shared.description,
        version=image.version,
        owner=image.owner.display_name,
        shared_at=image.shared_at,
    )


def registry_resource(registry: Registry) -> RegistryOut:
    return RegistryOut(
        id=public_id(REGISTRY_PREFIX, registry.pk),
        host=registry.host,
        username=registry.username,
        checked_at=registry.checked_at,
        created_at=registry.created_at,
    )


def pull_resource(pull: ImagePull | None) -> PullOut:
    if pull is None:
        return PullOut(done_bytes=0, total_bytes=0, layers=[], at=None)
    layers = [LayerOut(id=layer, done_bytes=done, total_bytes=total, step=step) for layer, done, total, step in pull.layers]
    return PullOut(done_bytes=pull.done_bytes, total_bytes=pull.total_bytes, layers=layers, at=pull.at)
