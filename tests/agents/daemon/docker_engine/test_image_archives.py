"""What another host sends as a root, before the engine sees it: whose it is, and what it unpacks to."""

import gzip
import hashlib
import io
import json
import os
import tarfile
import tracemalloc
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine.container_spec import INSTANCE_LABEL
from agents.daemon.docker_engine.image_archives import chains_of, parts_of
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import HEADROOM
from agents.daemon.transfer.root_export import DockerRootStore

TARGET = "b" * 32
MIB = 1024 * 1024
ZEROS = bytes(8 * MIB)
CONFIG = b'{"config": {"Labels": {"berth.instance": 1}}}'


class Engine:
    """An engine that takes in whatever it is given."""

    room = 1024 * MIB + HEADROOM

    def __init__(self) -> None:
        self.tags: list[tuple[str, str, str]] = []
        self.loaded = b""

    def engine(self) -> "Engine":
        return self

    def free_image_bytes(self) -> int:
        return self.room

    def close(self) -> None:
        return None

    def load_image(self, file: Any, quiet: bool) -> list[dict[str, str]]:
        self.loaded = b"".join(file)
        return [{"stream": "Loaded image ID: sha256:1\n"}]

    def inspect_image(self, image: str) -> dict[str, Any]:
        with tarfile.open(fileobj=io.BytesIO(self.loaded)) as reader:
            config = reader.extractfile("config.json")
            assert config is not None
            layers = json.load(config)["rootfs"]["diff_ids"]
        return {"Config": {"Labels": {INSTANCE_LABEL: TARGET}}, "RootFS": {"Layers": layers}}

    def tag(self, image: str, repository: str, number: str) -> None:
        self.tags.append((image, repository, number))


def digest_of(layer: bytes) -> str:
    """As an image names it: of what the layer unpacks to."""
    with suppress(OSError, EOFError):
        layer = gzip.decompress(layer)
    return "sha256:" + hashlib.sha256(layer).hexdigest()


def archive(path: Path, *layers: bytes, label: str = TARGET, digests: list[str] | None = None) -> Path:
    config = {
        "config": {"Labels": {INSTANCE_LABEL: label}},
        "rootfs": {"diff_ids": digests if digests is not None else [digest_of(layer) for layer in layers]},
    }
    files = {
        "manifest.json": json.dumps(
            [{"RepoTags": None, "Config": "config.json", "Layers": [f"{n}/layer.tar" for n in range(len(layers))]}]
        ).encode(),
        "config.json": json.dumps(config).encode(),
        **{f"{number}/layer.tar": layer for number, layer in enumerate(layers)},
    }
    with tarfile.open(path, "w") as writer:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            writer.addfile(entry, io.BytesIO(content))
    return path


def taken_in(
    path: Path, *, most: int, engine: Engine | None = None, held: Collection[str] = ()
) -> list[tuple[str, str, str]]:
    own = engine or Engine()
    DockerRootStore(own).import_root(path, TARGET, 3, most=most, held=held)  # type: ignore[arg-type]  # as much of a runtime as it asks
    return own.tags


def in_two(layer: bytes) -> bytes:
    return gzip.compress(layer[:MIB]) + gzip.compress(layer[MIB:])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, in_two])
def test_its_layers_count_as_they_are_unpacked(tmp_path: Path, pack: Any) -> None:
    """Compressed ones too: a host that sends 30 kB must not fill another one's disk with them."""
    path = archive(tmp_path / "root.tar", pack(ZEROS), pack(ZEROS))
    assert taken_in(path, most=16 * MIB) == [("sha256:1", f"berth-root/{TARGET}", "3")]
    assert taken_in(path, most=0), "an older control plane tells no limit"
    with pytest.raises(Failed, match="system_disk_full"):
        taken_in(path, most=16 * MIB - 1)


def test_the_host_has_room_for_it_twice(tmp_path: Path) -> None:
    """As the engine unpacks it, and as layers."""
    path, engine = archive(tmp_path / "root.tar", gzip.compress(ZEROS)), Engine()
    engine.room = 16 * MIB + HEADROOM
    assert taken_in(path, most=0, engine=engine)
    engine.room -= 1
    with pytest.raises(Failed, match="disk_full"):
        taken_in(path, most=0, engine=engine)


COMPRESSED = [b"\x28\xb5\x2f\xfdzstd", b"\x5a\x2a\x4d\x18\0\0\0\0zstd", b"\xfd7zXZ\x00xz", b"BZh9bzip2", b"\x1f\x8bno gzip"]


@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
@pytest.mark.parametrize("content", COMPRESSED)
def test_what_cannot_be_counted_is_not_taken_in(tmp_path: Path, content: bytes, wrap: Callable[[bytes], bytes]) -> None:
    layer = wrap(content)
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(archive(tmp_path / "root.tar", layer), most=MIB)


def added(path: Path, files: Mapping[str, bytes | str]) -> Path:
    """With more files than an image has; text is where a symbolic link leads."""
    with tarfile.open(path, "a") as writer:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            else:
                entry.size = len(content)
            writer.addfile(entry, io.BytesIO(content if isinstance(content, bytes) else b""))
    return path


def test_the_engine_sees_nothing_but_what_was_checked(tmp_path: Path) -> None:
    """It takes "./manifest.json" for the manifest, believes an index beside it, and unpacks whatever else is there."""
    named = json.dumps([{"Config": "config.json", "RepoTags": ["berth/base:1"], "Layers": []}]).encode()
    layers, engine = (b"first layer", gzip.compress(b"second layer"), b""), Engine()
    path = archive(tmp_path / "root.tar", *layers)
    added(path, {"./manifest.json": named, "index.json": b"{}", "oci-layout": b"{}", "junk": ZEROS, "x": ".", "x/0": b"2"})
    assert taken_in(path, most=MIB, engine=engine)
    with tarfile.open(fileobj=io.BytesIO(engine.loaded)) as seen:
        assert seen.getnames() == ["config.json", "manifest.json", "0/layer.tar", "1/layer.tar", "2/layer.tar"]
        read = [seen.extractfile(name) for name in seen.getnames()]
        _config, manifest, *came = [file.read() for file in read if file is not None]
    assert json.loads(manifest)[0]["RepoTags"] is None
    assert came == [b"first layer", b"second layer", b""]


@pytest.mark.parametrize("wrap", [gzip.compress, lambda content: b"\x50\x2a\x4d\x18" + content])
def test_an_archive_that_is_compressed_as_a_whole_is_refused(tmp_path: Path, wrap: Callable[[bytes], bytes]) -> None:
    path = archive(tmp_path / "root.tar", b"layer")
    path.write_bytes(wrap(path.read_bytes()))
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(path, most=MIB)


def test_a_list_is_not_read_through_a_link_to_something_larger(tmp_path: Path) -> None:
    path = archive(tmp_path / "root.tar", b"layer")
    added(path, {"big": bytes(5 * MIB), "manifest.json": "big"})
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(path, most=MIB)
    loop = added(archive(tmp_path / "loop.tar", b"layer"), {"manifest.json": "manifest.json"})
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(loop, most=MIB)


def test_a_header_does_not_fill_the_memory(tmp_path: Path) -> None:
    """The holes of a transfer cost its sender nothing: a long name, or a list of attributes, as large as the file."""
    for kind in (tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE):
        entry = tarfile.TarInfo("long")
        entry.type, entry.size = kind, 64 * MIB
        path = tmp_path / "root.tar"
        with path.open("wb") as file:
            file.write(entry.tobuf(tarfile.GNU_FORMAT))
            file.truncate(65 * MIB)
        tracemalloc.start()
        try:
            with pytest.raises(Failed, match="bad_parcel"):
                taken_in(path, most=MIB)
            assert tracemalloc.get_traced_memory()[1] < 32 * MIB
        finally:
            tracemalloc.stop()


def test_an_archive_of_very_many_files_is_refused(tmp_path: Path) -> None:
    path = added(archive(tmp_path / "root.tar", b"layer"), {str(number): b"" for number in range(10_000)})
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(path, most=MIB)


def test_the_root_of_another_instance_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(archive(tmp_path / "root.tar", b"layer", label="c" * 32), most=MIB)


def test_a_layer_comes_or_is_one_of_the_image_that_the_instance_was_made_from(tmp_path: Path) -> None:
    """An engine does not read a layer that it has: an image could take the layers of somebody else's by their digests."""
    digests = [digest_of(b"base"), digest_of(b"of somebody else")]
    base, private = chains_of(digests)
    path = archive(tmp_path / "root.tar", bytes(4), bytes(16), digests=digests)
    for held in [(), (base,), (private,), (digests[1],)]:
        with pytest.raises(Failed, match="bad_parcel"):
            taken_in(path, most=MIB, held=held)
    assert taken_in(path, most=MIB, held=(base, private))
    came = archive(tmp_path / "came.tar", bytes(4), b"of somebody else", digests=digests)
    assert taken_in(came, most=MIB, held=(base,)), "who has its content may have it"


def test_its_parts_are_where_its_layers_lie(tmp_path: Path) -> None:
    layers = [os.urandom(3000), os.urandom(5000)]
    path = archive(tmp_path / "root.tar", *layers)
    whole, parts = path.read_bytes(), parts_of(path)
    assert [whole[part.start : part.start + part.size] for part in parts] == layers
    assert [part.name for part in parts] == chains_of([digest_of(layer) for layer in layers])


@pytest.mark.parametrize(
    "spoil", [lambda path: path.write_bytes(b"no archive"), lambda path: archive(path, b"x", digests=[])]
)
def test_a_file_that_is_not_understood_has_no_parts(tmp_path: Path, spoil: Callable[[Path], Any]) -> None:
    spoil(tmp_path / "root.tar")
    assert parts_of(tmp_path / "root.tar") == ()


@pytest.mark.parametrize("manifest", [b"[]", b"{}", b'[{"Config": "x"}]', b'[{"Config": "config.json", "Layers": 5}]', b"x"])
def test_what_is_no_image_is_refused(tmp_path: Path, manifest: bytes) -> None:
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as writer:
        for name, content in (("manifest.json", manifest), ("config.json", CONFIG)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            writer.addfile(entry, io.BytesIO(content))
    with pytest.raises(Failed, match="bad_parcel"):
        taken_in(path, most=MIB)
