"""What a hostile host may send in place of a root, and what a real engine makes of it."""

import hashlib
import io
import json
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine.container_spec import INSTANCE_LABEL, EngineOptions, root_repository
from agents.daemon.docker_engine.image_archives import chains_of
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.lib.errors import Failed
from agents.daemon.transfer.root_export import DockerRootStore

pytestmark = pytest.mark.docker
Files = dict[str, bytes]


@pytest.fixture
def target(engine: Any) -> Iterator[str]:
    name = uuid.uuid4().hex
    yield name
    for image in engine.images(filters={"label": f"{INSTANCE_LABEL}={name}"}):
        engine.remove_image(image["Id"], force=True)


def test_a_second_list_under_another_spelling_names_no_image(engine: Any, target: str, tmp_path: Path) -> None:
    """It would be an official image to the next renter here, or the root of another instance."""
    stolen = f"berth-test-stolen:{target}"
    good, files = _image("good", target)
    bad, others = _image("bad", target)
    lists = json.dumps([good, {**bad, "RepoTags": [stolen]}]).encode()
    for number, spelling in enumerate(("./manifest.json", "x/../manifest.json", "link/manifest.json")):
        path = _archive(tmp_path / f"{number}.tar", {**files, **others, "manifest.json": _list(good), spelling: lists})
        _roots().import_root(path, target, number, most=1024**2)
        assert not engine.images(name=stolen), spelling
        assert engine.images(name=f"{root_repository(target)}:{number}"), "what was looked at is taken in"


@pytest.mark.parametrize("key", ["RootFS", "rootf\u017f"])
def test_another_spelling_of_a_key_takes_no_layer_of_somebody_else(
    engine: Any, target: str, tmp_path: Path, key: str
) -> None:
    private = uuid.uuid4().hex
    try:
        _roots().import_root(_archive(tmp_path / "theirs.tar", _whole("private", private)), private, 1, most=1024**2)
        image, files = _image("good", target)
        words = json.loads(files["good.json"])
        words[key] = {"type": "layers", "diff_ids": [_digest(_layer(b"private"))]}
        files["good.json"] = json.dumps(words).encode()
        path = _archive(tmp_path / "root.tar", {**files, "manifest.json": _list(image)})
        with pytest.raises(Failed, match="bad_parcel"):
            _roots().import_root(path, target, 1, most=1024**2)
        assert not engine.images(filters={"label": f"{INSTANCE_LABEL}={target}"}), "nothing of it stays"
    finally:
        _roots().delete(private, 1)


def _roots() -> DockerRootStore:
    return DockerRootStore(DockerRuntime(EngineOptions(uuid.uuid4().hex)))


def _whole(name: str, target: str) -> Files:
    image, files = _image(name, target)
    return {**files, "manifest.json": _list(image)}


def _image(name: str, target: str) -> tuple[dict[str, Any], Files]:
    layer = _layer(name.encode())
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": {INSTANCE_LABEL: target}},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    row = {"Config": f"{name}.json", "RepoTags": None, "Layers": [f"{name}.tar"]}
    return row, {f"{name}.json": json.dumps(config).encode(), f"{name}.tar": layer}


def _list(image: dict[str, Any]) -> bytes:
    return json.dumps([image]).encode()


def _layer(content: bytes) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        _add(archive, "file", content)
    return whole.getvalue()


def _digest(layer: bytes) -> str:
    return chains_of(["sha256:" + hashlib.sha256(layer).hexdigest()])[0]


def _archive(path: Path, files: Files) -> Path:
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "."
        archive.addfile(link)
        for name, content in files.items():
            _add(archive, name, content)
    return path


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
