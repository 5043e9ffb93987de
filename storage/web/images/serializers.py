"""Serializers of images, registry logins and image pulls."""

from typing import Any, Final

from rest_framework import serializers

from accounts.models import User
from common.http.fields import NameText
from common.ids import public_id
from storage.images.selectors import PREFIX, REGISTRY_PREFIX
from storage.models import Image, ImagePull, Registry
from storage.states import ImageSource, ImageState

Shape = dict[str, Any]
LAYER_STEPS: Final = ("waiting", "downloading", "downloaded", "unpacking", "ready")
SOURCES: Final = ("official", "own", "community")


class ImageIn(serializers.Serializer[Any]):
    name = NameText(max_length=255, help_text="As for docker pull: pytorch/pytorch:2.4.0")
    title = NameText(max_length=120, required=False, default="", allow_blank=True)
    description = NameText(max_length=300, required=False, default="", allow_blank=True)


class ShareIn(serializers.Serializer[Any]):
    name = NameText(max_length=60, help_text="In the community list; an own name again makes a new version")
    title = NameText(max_length=120, required=False, default="", allow_blank=True)
    description = NameText(max_length=1000, required=False, default="", allow_blank=True)


class RegistryIn(serializers.Serializer[Any]):
    host = serializers.CharField(max_length=200, help_text="Such as registry.example.com; docker.io: Docker Hub")
    username = serializers.CharField(max_length=200)
    password = serializers.CharField(max_length=4000, trim_whitespace=False, help_text="Or an access token. Kept encrypted")


class SaveImageIn(serializers.Serializer[Any]):
    name = NameText(max_length=60)
    description = NameText(max_length=300, required=False, default="", allow_blank=True)


class ImagesQuery(serializers.Serializer[Any]):
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a field of the query, not where this one reads from
        SOURCES, required=False, help_text="Left out: everything that you can run"
    )


class CommunityOut(serializers.Serializer[Any]):
    """Name and version under which an image is shared."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    version = serializers.IntegerField()
    owner = serializers.CharField(help_text="The name that its owner shows")
    shared_at = serializers.DateTimeField(allow_null=True)


class ImageOut(serializers.Serializer[Any]):
    """An image that an instance can run."""

    id = serializers.CharField(help_text="Quotes take this or the slug")
    slug = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    reference = serializers.CharField(help_text="What the host pulls: by digest, unless it is the market's own")
    name = serializers.CharField(allow_null=True, help_text="Of one that was added by name: the name and tag")
    cuda = serializers.CharField(help_text="The CUDA version that it needs; empty: none")
    has_ssh = serializers.BooleanField(
        help_text="It starts an SSH server of its own; for any other the host's agent speaks SSH"
    )
    has_jupyter = serializers.BooleanField()
    has_tensorboard = serializers.BooleanField()
    official = serializers.BooleanField()
    own = serializers.BooleanField()
    source = serializers.ChoiceField(ImageSource.choices)  # type: ignore[assignment]  # as above
    state = serializers.ChoiceField(ImageState.choices)
    digest = serializers.CharField(allow_null=True)
    size_bytes = serializers.IntegerField(allow_null=True, help_text="Compressed; of a saved one on its host: whole")
    architectures = serializers.ListField(child=serializers.CharField())
    private = serializers.BooleanField(help_text="Read with the login of a saved registry")
    host = serializers.CharField(allow_null=True, help_text="It lies on this host and can be rented there alone")
    community = CommunityOut(allow_null=True)
    use_count = serializers.IntegerField(help_text="Instances rented with it")
    failure = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When its name was last looked up in the registry")


class RegistryOut(serializers.Serializer[Any]):
    """A saved login.

    The password is never shown.
    """

    id = serializers.CharField()
    host = serializers.CharField()
    username = serializers.CharField()
    checked_at = serializers.DateTimeField()
    created_at = serializers.DateTimeField()


class LayerOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    done_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField()
    step = serializers.ChoiceField((*LAYER_STEPS, ""))


class PullOut(serializers.Serializer[Any]):
    """Progress of the pull of an instance's image.

    Without layers, no pull is running.
    """

    done_bytes = serializers.IntegerField()
    total_bytes = serializers.IntegerField(help_text="Of the layers whose size is known by now")
    layers = LayerOut(many=True)
    at = serializers.DateTimeField(allow_null=True)


def image_shape(image: Image, user: User | None) -> Shape:
    own = user is not None and image.owner_id == user.pk
    return {
        "id": public_id(PREFIX, image.pk),
        "slug": image.slug,
        "title": image.title,
        "description": image.description,
        "reference": image.reference,
        "name": image.named_as or None,
        "cuda": image.cuda,
        "has_ssh": image.has_ssh,
        "has_jupyter": image.has_jupyter,
        "has_tensorboard": image.has_tensorboard,
        "official": image.source == ImageSource.OFFICIAL,
        "own": own,
        "source": image.source,
        "state": image.state,
        "digest": image.digest or None,
        "size_bytes": image.size_bytes or None,
        "architectures": image.architectures,
        "private": image.private,
        "host": image.host_id and public_id("host", image.host_id),
        "community": _community(image),
        "use_count": image.use_count,
        "failure": image.failure or None if own else None,
        "created_at": image.created_at,
        "checked_at": image.checked_at,
    }


def _community(image: Image) -> Shape | None:
    shared = image.shared
    if shared is None or image.owner is None:
        return None
    return {
        "name": shared.slug,
        "title": shared.title,
        "description": shared.description,
        "version": image.version,
        "owner": image.owner.display_name,
        "shared_at": image.shared_at,
    }


def registry_shape(registry: Registry) -> Shape:
    return {
        "id": public_id(REGISTRY_PREFIX, registry.pk),
        "host": registry.host,
        "username": registry.username,
        "checked_at": registry.checked_at,
        "created_at": registry.created_at,
    }


def pull_shape(pull: ImagePull | None) -> Shape:
    if pull is None:
        return {"done_bytes": 0, "total_bytes": 0, "layers": [], "at": None}
    names = ("id", "done_bytes", "total_bytes", "step")
    layers = [dict(zip(names, layer, strict=True)) for layer in pull.layers]
    return {"done_bytes": pull.done_bytes, "total_bytes": pull.total_bytes, "layers": layers, "at": pull.at}
