"""What the market has: things by name, asked for once, and no guess where a name means several."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from berth import errors
from berth.cli.declared.files import Document
from berth.cli.framework import Refused

if TYPE_CHECKING:
    from berth import Client, models

T = TypeVar("T")

ENDED = ("releasing", "gone")


class Market:
    """One look at the market. A new look is a new object."""

    def __init__(self, client: "Client", documents: Iterable[Document]) -> None:
        self.client = client
        self.documents = {(each.kind, each.name): each for each in documents}
        self.chosen: Counter[str] = Counter()  # GPUs of each offer that documents of these files are going to rent
        self._instances: list[models.InstanceOut] | None = None
        self._volumes: list[models.VolumeOut] | None = None
        self._keys: list[models.Key] | None = None
        self._templates: dict[str, models.TemplateOut | None] = {}

    def declared(self, kind: str, name: str) -> Document | None:
        return self.documents.get((kind, name))

    # -- instances

    def instance(self, name: str) -> "models.InstanceOut | None":
        if self._instances is None:
            self._instances = list(self.client.instances.list(limit=200))
        found = [each for each in self._instances if each.name == name and each.state not in ENDED]
        return only(found, f"instance {name}", lambda each: each.id)

    def predecessor(self, name: str) -> "models.InstanceOut | None":
        """Return the newest instance of this name that has ended, or is ending."""
        ended = self.client.instances.list(state=list(ENDED), limit=200)
        return max((each for each in ended if each.name == name), key=lambda each: each.created_at, default=None)

    # -- volumes

    def volume(self, name: str) -> "models.VolumeOut | None":
        found = [each for each in self.volumes() if each.name == name]
        return only(found, f"volume {name}", lambda each: each.id)

    def volume_of(self, text: str) -> "models.VolumeOut | None":
        """Return the volume with this name or id."""
        if text.startswith("vol_"):
            return only([each for each in self.volumes() if each.id == text], text, lambda each: each.id)
        return self.volume(text)

    def volumes(self) -> "list[models.VolumeOut]":
        if self._volumes is None:
            self._volumes = [each for each in self.client.volumes.list() if each.state not in ("deleting", "gone")]
        return self._volumes

    # -- templates

    def template(self, name: str) -> "models.TemplateOut | None":
        """Return the person's own template with this slug."""
        if name not in self._templates:
            found = self._template(name)
            self._templates[name] = found if found is not None and found.own else None
        return self._templates[name]

    def _template(self, text: str) -> "models.TemplateOut | None":
        try:
            return self.client.launch_templates.get(text)
        except errors.NotFound:
            return None

    def template_of(self, text: str) -> "models.TemplateOut | None":
        """Return the template that an order with this text would use, in its version."""
        return self._template(text)

    # -- the rest

    def keys_of(self, wanted: Iterable[str]) -> "list[models.Key]":
        """Return SSH keys by id or name."""
        if self._keys is None:
            self._keys = list(self.client.ssh_keys.list())
        found = []
        for text in wanted:
            one = only(
                [each for each in self._keys if text in (each.id, each.name)], f"SSH key {text}", lambda each: each.id
            )
            if one is None:
                raise Refused(f"There is no SSH key {text!r}: `berth ssh-key ls` lists them.", 4)
            found.append(one)
        return found

    def host_id(self, text: str) -> str:
        """Return the id of a host that takes volumes, by id or name."""
        return text if text.startswith("host_") else self.storage_host(text).id

    def storage_host(self, text: str) -> "models.StorageHostOut":
        """Return a host that takes volumes, by id or name."""
        found = [each for each in self.client.storage_hosts.list() if text in (each.id, each.name)]
        one = only(found, f"host {text}", lambda each: each.id)
        if one is None:
            raise Refused(f"No host {text!r} takes volumes: `berth volume hosts` lists them.", 4)
        return one

    def image_slug(self, text: str) -> str:
        return self.client.images.get(text).slug if text.startswith("img_") else text


def only(found: list[T], what: str, id_of: Callable[[T], str]) -> T | None:
    """Return the one that there is, or None.

    Raises:
        Refused: there are several.
    """
    if len(found) > 1:
        listed = ", ".join(map(id_of, found[:8]))
        raise Refused(f"There are several of {what}: {listed}. Rename all but one; nothing was done.")
    return found[0] if found else None
