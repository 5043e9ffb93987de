"""Templates from elsewhere: a `docker run` line, the name of an image, or an instance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from accounts.models import User
from instances.core.template_selectors import template_of_instance
from storage.images.resolve import ExaminedImage, add_image, examine_image
from storage.images.selectors import usable_images
from workloads.templates.docker_run import DockerRun, parse_docker_run
from workloads.templates.inputs import port_rows

if TYPE_CHECKING:
    from storage.models import Image


@dataclass(frozen=True)
class ImportPreview:
    """What would become of a line; nothing is stored."""

    read: DockerRun
    examined: ExaminedImage

    @property
    def content(self) -> dict[str, Any]:
        return {"image": self.read.image, **self.read.content}

    @property
    def title(self) -> str:
        return self.read.name or self.read.image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def preview_import(*, owner: User, line: str) -> ImportPreview:
    """Read a line and look its image up in its registry; it makes network requests, so call it outside transactions.

    Raises DockerOptionRefused, and what looking up an image raises.
    """
    read = parse_docker_run(line)
    return ImportPreview(read, examine_image(owner=owner, name=read.image))


def stored_image(*, owner: User, examined: ExaminedImage) -> "Image":
    """Add the image of a preview to the owner's images, or return the one that is there."""
    return add_image(owner=owner, examined=examined, title="", description="")


def content_from_instance(*, owner: User, instance_id: UUID) -> tuple[str, dict[str, Any]]:
    """Return a title and a content that starts what an instance runs.

    Of secrets it has the names alone, as required inputs. An image that the owner can no longer run is left out.
    """
    found = template_of_instance(owner, instance_id)
    runs = usable_images(owner).filter(slug=found.image).exists()
    content: Mapping[str, Any] = {
        "image": found.image if runs else "",
        "launch": found.launch,
        "ports": port_rows(found.ports, found.udp_ports),
        "data_disk_gb": found.data_disk_gb,
    }
    return found.name, dict(content)
