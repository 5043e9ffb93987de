"""Which images of an engine stay and which go when its disk fills up, on an engine that says how full it is."""

import json
from pathlib import Path

import pytest

from agents.daemon.engine import image_cache
from agents.daemon.engine.image_cache import ImageCache
from agents.daemon.engine.interface import GIB, EngineRefused, ImageRequest
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.reconciler.image_prefetch import ImagePrefetcher
from agents.daemon.reconciler.image_pulls import ImagePuller
from agents.protocol.messages import DesiredState, PrefetchImage

DISK = 100 * GIB
PIN = "@sha256:" + "a" * 64


class Engine(SimulatedRuntime):
    """Images by reference with their size; those in `used` have a container."""

    def __init__(self, folder: Path, **images: int) -> None:
        super().__init__(folder / "engine.json")
        self.images = {name: size * GIB for name, size in images.items()}
        self.used: set[str] = set()
        self.asked: list[str] = []

    def has_image(self, reference: str) -> bool:
        return reference in self.images

    def free_image_bytes(self) -> int:
        return DISK - sum(self.images.values())

    def image_disk_bytes(self) -> int:
        return DISK

    def pull_image(self, pull: ImageRequest, cancelled: object) -> None:
        self.asked.append(pull.reference)
        if "bad" in pull.reference:
            raise EngineRefused("no such image")
        self.images[pull.reference] = 5 * GIB

    def evict_image(self, reference: str) -> bool:
        if reference in self.used:
            return False
        self.images.pop(reference, None)
        return True


def cache_of(engine: Engine, folder: Path, *pulled: str) -> ImageCache:
    cache = ImageCache(engine, folder / "images.json")
    for reference in pulled:
        cache.add(reference)
    return cache


def test_a_full_disk_loses_the_least_recently_used_images_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(tmp_path, a=10, b=10, c=10, own=60)
    monkeypatch.setattr(image_cache, "IN_USE_S", 0)
    cache = cache_of(engine, tmp_path, "a", "b", "c")
    cache.use("a")
    cache.trim()  # 90 % are more than 85; at 80 it is enough
    assert sorted(engine.images) == ["a", "c", "own"]
    cache.trim()
    assert cache.pulled() == ["c", "a"]


def test_what_a_container_stands_on_or_was_just_asked_for_stays(tmp_path: Path) -> None:
    engine = Engine(tmp_path, a=10, b=10, own=79)
    engine.used = {"a"}
    cache = cache_of(engine, tmp_path, "a", "b")
    cache.use("b")  # an instance is about to be made of it
    cache.trim()
    assert sorted(engine.images) == ["a", "b", "own"]
    assert cache.pulled() == ["a", "b"]


def test_an_image_that_needs_room_gets_that_of_unused_ones(tmp_path: Path) -> None:
    engine = Engine(tmp_path, a=10, b=10, own=60)
    cache = cache_of(engine, tmp_path, "a", "b")
    cache.make_room(30 * GIB)
    assert sorted(engine.images) == ["b", "own"]
    cache.make_room(DISK)  # what others brought stays, whatever is needed
    assert sorted(engine.images) == ["own"]


@pytest.mark.parametrize("torn", [b"", b"{", b'{"a": 1}', b'["a", 7'])
def test_a_torn_list_removes_nothing(tmp_path: Path, torn: bytes) -> None:
    engine = Engine(tmp_path, a=95)
    (tmp_path / "images.json").write_bytes(torn)
    cache = ImageCache(engine, tmp_path / "images.json")
    cache.trim()
    assert sorted(engine.images) == ["a"]


def test_the_list_outlives_the_agent(tmp_path: Path) -> None:
    engine = Engine(tmp_path, a=50, b=45)
    cache_of(engine, tmp_path, "a")
    assert json.loads((tmp_path / "images.json").read_bytes()) == ["a"]
    ImageCache(engine, tmp_path / "images.json").trim()
    assert sorted(engine.images) == ["b"]


def test_only_pinned_images_are_pulled_ahead_and_only_while_there_is_room(tmp_path: Path) -> None:
    engine = Engine(tmp_path, own=60)
    images = ImagePuller(engine, parallel=1, local=False)
    prefetch = ImagePrefetcher(engine, images)
    wanted = [
        PrefetchImage("registry.test/tag:1"),  # a tag may be anything tomorrow
        PrefetchImage("registry.test/huge" + PIN, 20 * GIB),
        PrefetchImage("registry.test/bad" + PIN),
        PrefetchImage("registry.test/good" + PIN, GIB),
    ]
    prefetch.apply(DesiredState(1, 1, "", "", images=wanted))
    while prefetch.pull_next():
        pass
    assert prefetch.pull_next()  # the one that failed is not asked for again at once
    assert not prefetch.pull_next()
    assert engine.asked == ["registry.test/bad" + PIN, "registry.test/good" + PIN]
    assert images.cache.pulled() == ["registry.test/good" + PIN]


def test_nothing_is_pulled_ahead_of_an_image_that_an_instance_needs(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    images = ImagePuller(engine, parallel=1, local=False)
    prefetch = ImagePrefetcher(engine, images)
    prefetch.apply(DesiredState(1, 1, "", "", images=[PrefetchImage("registry.test/good" + PIN)]))
    images.busy.set()
    assert not prefetch.pull_next()
    images.busy.clear()
    assert prefetch.pull_next()


def test_an_owner_who_wants_none_gets_none(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    prefetch = ImagePrefetcher(engine, ImagePuller(engine, parallel=1, local=False), enabled=False)
    prefetch.apply(DesiredState(1, 1, "", "", images=[PrefetchImage("registry.test/good" + PIN)]))
    assert not prefetch.pull_next()
