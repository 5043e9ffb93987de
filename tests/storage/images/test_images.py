"""The catalogue of images."""

import importlib
from uuid import uuid4

import pytest
from django.apps import apps
from django.test import Client

from common.errors import NotFound
from common.ids import public_id
from marketplace.pricing.offer_requirements import NO_IMAGE, ImageNeeds
from marketplace.search.index.cuda_versions import version_number
from storage.images.register import register_image, update_built_reference
from storage.images.selectors import active_images, find_image, image_by_id, image_by_slug, image_needs
from storage.models import Image

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def official() -> Image:
    """As the migration writes it; tests that truncate tables may have taken its row away."""
    importlib.import_module("storage.migrations.0001_squashed_0007_volume_moves").add_official_image(apps, None)
    return Image.objects.get(slug="berth-base")


def test_the_official_image_is_there_once(official: Image) -> None:
    importlib.import_module("storage.migrations.0001_squashed_0007_volume_moves").add_official_image(apps, None)
    assert Image.objects.filter(reference="berth/base:1").count() == 1
    assert (official.has_jupyter, official.has_tensorboard, official.cuda, official.official) == (True, True, "", True)


def test_it_is_found_by_slug_and_by_id(official: Image) -> None:
    assert find_image("berth-base") == find_image(public_id("img", official.pk)) == official
    assert image_by_id(official.pk) == image_by_slug("berth-base")
    for unknown in ("nothing", public_id("img", uuid4())):
        with pytest.raises(NotFound):
            find_image(unknown)


def test_what_an_image_needs_is_told(official: Image) -> None:
    register_image(slug="cuda-12", title="CUDA", reference="cuda:12", cuda="12.1")
    assert image_needs("cuda-12") == ImageNeeds(cuda=version_number("12.1"))
    assert image_needs(public_id("img", official.pk)) == NO_IMAGE
    with pytest.raises(NotFound):
        image_needs("nothing")


def test_what_is_withdrawn_is_not_offered(official: Image, client: Client) -> None:
    register_image(slug="other", reference="berth/other:1", title="Other")
    Image.objects.filter(slug="berth-base").update(active=False)
    assert [image.slug for image in active_images()] == ["other"]
    assert [image["slug"] for image in client.get("/api/v1/images").json()["results"]] == ["other"]
    with pytest.raises(NotFound):
        find_image("berth-base")


def test_registering_again_updates(official: Image) -> None:
    image = register_image(slug="berth-base", reference="berth/base:2", title="Newer", cuda="12.4")
    assert (image.pk, image.reference, image.cuda) == (official.pk, "berth/base:2", "12.4")


def test_the_catalogue_follows_what_was_built_here_and_nothing_that_staff_chose(official: Image) -> None:
    update_built_reference(slug="berth-base", built_as="berth/base:1", reference="berth/base:1-0a1b")
    assert find_image("berth-base").reference == "berth/base:1-0a1b"
    update_built_reference(slug="berth-base", built_as="berth/base:1", reference="berth/base:1-2c3d")
    assert find_image("berth-base").reference == "berth/base:1-2c3d"
    register_image(slug="berth-base", reference="mirror.example/base:7", title="Ours")
    update_built_reference(slug="berth-base", built_as="berth/base:1", reference="berth/base:1-0a1b")
    assert find_image("berth-base").reference == "mirror.example/base:7"
