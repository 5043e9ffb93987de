"""The Docker Engine as a store of images: the part of the runtime that brings, saves, sends and drops them."""

import threading
from contextlib import closing
from typing import Any

from agents.daemon import image_store
from agents.daemon.engine_words import engine_answers
from agents.daemon.pulls import Pull
from agents.daemon.runtime import EngineRefused, ImageFacts

CHANGE_TIMEOUT = 300.0


class DockerImages:
    """Needs the engine's clients of the runtime that it is part of."""

    _reader: Any
    _changer: Any
    _images_at = ""

    def _client(self, timeout: float | None) -> Any:
        raise NotImplementedError

    def has_image(self, reference: str) -> bool:
        try:
            with engine_answers():
                self._reader.inspect_image(reference)
        except EngineRefused as error:
            if error.missing:
                return False
            raise
        return True

    def pull_image(self, pull: Pull, cancelled: threading.Event) -> None:
        with engine_answers(), closing(self._client(CHANGE_TIMEOUT)) as client:
            image_store.pull(client, pull, cancelled)

    def image_room(self) -> int:
        if not self._images_at:
            with engine_answers():
                self._images_at = str(self._reader.info()["DockerRootDir"])
        return image_store.room_at(self._images_at)

    def image_facts(self, reference: str) -> ImageFacts:
        with engine_answers():
            return image_store.facts_of(self._reader.inspect_image(reference), str(self._reader.version()["Arch"]))

    def save_image(self, container: str, reference: str) -> ImageFacts:
        with engine_answers():
            image_store.save(self._changer, container, reference)
        return self.image_facts(reference)

    def tag_image(self, reference: str, name: str) -> None:
        repository, tag = image_store.split_reference(name)
        with engine_answers():
            self._changer.tag(reference, repository, tag)

    def push_image(self, push: Pull, cancelled: threading.Event) -> str:
        with engine_answers(), closing(self._client(CHANGE_TIMEOUT)) as client:
            return image_store.push(client, push, cancelled)

    def drop_image(self, reference: str) -> None:
        try:
            with engine_answers():
                self._changer.remove_image(reference, force=True)
        except EngineRefused as error:
            if not error.missing:
                raise
