"""Images of the Docker runtime: pull, save, push and remove."""

import threading
from contextlib import closing
from typing import Any

from agents.daemon.docker_engine import storage_driver
from agents.daemon.docker_engine.container_spec import ROOT_MESSAGE, disk_limit_gb
from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.engine.interface import EngineRefused, ImageFacts, ImageRequest
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import GIB, HEADROOM

CHANGE_TIMEOUT = 300.0
TOO_MUCH = "It holds {size:.1f} GB beside its image, a system disk {limit} GB: remove what it does not need first."


class DockerImages:
    """Image operations of the runtime; its other parts provide the engine's clients."""

    _reader: Any
    _changer: Any
    _images_at = ""

    def _client(self, timeout: float | None) -> Any:
        raise NotImplementedError

    def has_image(self, reference: str) -> bool:
        try:
            with convert_engine_errors():
                self._reader.inspect_image(reference)
        except EngineRefused as error:
            if error.missing:
                return False
            raise
        return True

    def pull_image(self, pull: ImageRequest, cancelled: threading.Event) -> None:
        with convert_engine_errors(), closing(self._client(CHANGE_TIMEOUT)) as client:
            storage_driver.pull(client, pull, cancelled)

    def free_image_bytes(self) -> int:
        return storage_driver.room_at(self._images_folder())

    def image_disk_bytes(self) -> int:
        return storage_driver.size_at(self._images_folder())

    def _images_folder(self) -> str:
        if not self._images_at:
            with convert_engine_errors():
                self._images_at = str(self._reader.info()["DockerRootDir"])
        return self._images_at

    def image_facts(self, reference: str) -> ImageFacts:
        with convert_engine_errors():
            return storage_driver.facts_of(self._reader.inspect_image(reference), str(self._reader.version()["Arch"]))

    def save_image(self, container: str, reference: str) -> ImageFacts:
        if not self.has_image(reference):  # an image that exists was saved completely
            self.check_copy(container)
            with convert_engine_errors():
                storage_driver.save(self._changer, container, reference)
        return self.image_facts(reference)

    def check_copy(self, container: str) -> None:
        """Check that the container's layer may be copied in the engine, outside of its system disk.

        Holes in its files count: the engine fills them, so a disk of 20 GB can hold what is a layer of terabytes.
        A root that was cloned or moved before is based on a layer that its disk does not hold; both together must
        fit the disk's limit, so that no chain of copies grows beyond it. And the host needs room for the copy.

        Raises:
            Failed: The layer is too large, or the host has no room.
        """
        with convert_engine_errors():
            [listed] = self._changer.containers(all=True, size=True, filters={"id": container})
            layers = self._changer.history(listed["ImageID"])
        written = int(listed.get("SizeRw") or 0)
        limit = disk_limit_gb(listed["Labels"])
        held = written + sum(int(item["Size"]) for item in layers if item["Comment"] == ROOT_MESSAGE)
        if limit and held > limit * GIB:
            raise Failed("system_disk_full", TOO_MUCH.format(size=held / GIB, limit=limit))
        if self.free_image_bytes() < written + HEADROOM:
            raise Failed("disk_full", "The host has no room for a copy of what was installed.")

    def tag_image(self, reference: str, name: str) -> None:
        repository, tag = storage_driver.split_reference(name)
        with convert_engine_errors():
            self._changer.tag(reference, repository, tag)

    def push_image(self, push: ImageRequest, cancelled: threading.Event) -> str:
        with convert_engine_errors(), closing(self._client(CHANGE_TIMEOUT)) as client:
            return storage_driver.push(client, push, cancelled)

    def evict_image(self, reference: str) -> bool:
        try:
            with convert_engine_errors():
                self._changer.remove_image(reference, force=False)
        except EngineRefused as error:
            if error.conflict:
                return False
            if not error.missing:
                raise
        return True

    def delete_image(self, reference: str) -> None:
        try:
            with convert_engine_errors():
                self._changer.remove_image(reference, force=True)
        except EngineRefused as error:
            if not error.missing:
                raise
