"""The background build of the official image: built once, again when its files change, and honest when it fails."""

import gc
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException

from devserver import image
from devserver.image import ImageBuild, content_hash, engine_version, local_authorities, own_reference

REFERENCE = "berth/ops-test:1"


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "context"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM debian:bookworm-slim\nARG BUILD_CA=\nCOPY word /word\n")
    (folder / "word").write_text("one")
    return folder


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    """Without one: skipped by hand, failed where one is promised."""
    monkeypatch.setattr(image, "REFERENCE", REFERENCE)
    try:
        client = docker.from_env(version="auto")
    except DockerException as error:
        if os.environ.get("BERTH_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"no container engine: {error}")
    yield client
    for made in client.images.list(REFERENCE.partition(":")[0]):
        client.images.remove(made.id, force=True)
    client.close()


def build(context: Path) -> ImageBuild:
    made = ImageBuild(context, context.parent / "image-build.json", context.parent / "image.log")
    made.start()
    deadline = time.monotonic() + 120
    while not (made.ready or made.failed):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return made


def report(context: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((context.parent / "image-build.json").read_text())
    return found


@pytest.mark.docker
def test_built_once_and_again_when_a_file_changes(context: Path, engine: docker.DockerClient) -> None:
    assert build(context).ready
    first = engine.images.get(REFERENCE)
    assert report(context)["state"] == "ready"
    assert "Step 4/4" in (context.parent / "image.log").read_text()
    (context.parent / "image.log").unlink()
    assert build(context).ready
    assert engine.images.get(REFERENCE).id == first.id
    assert not (context.parent / "image.log").exists()
    (context / "word").write_text("two")
    assert build(context).ready
    assert engine.images.get(REFERENCE).id != first.id


@pytest.mark.docker
def test_another_checkout_on_the_same_engine_takes_nobodys_image_away(
    context: Path, engine: docker.DockerClient, tmp_path: Path
) -> None:
    """Each goes on with its own, though the other has built since; back at the first nothing is built again."""
    assert build(context).ready
    own = own_reference(REFERENCE, context)
    first = engine.images.get(own)
    other = tmp_path / "elsewhere" / "context"
    shutil.copytree(context, other)
    (other / "word").write_text("another version's")
    assert build(other).ready
    assert engine.images.get(own).id == first.id != engine.images.get(REFERENCE).id
    (context.parent / "image.log").unlink()
    assert build(context).ready
    assert not (context.parent / "image.log").exists()
    assert engine.images.get(own).id == first.id


@pytest.mark.docker
def test_what_was_built_before_under_the_plain_name_is_known_by_its_content(
    context: Path, engine: docker.DockerClient
) -> None:
    assert build(context).ready
    engine.images.remove(own_reference(REFERENCE, context))
    (context.parent / "image.log").unlink()
    assert build(context).ready
    assert engine.images.get(own_reference(REFERENCE, context)).id == engine.images.get(REFERENCE).id
    assert not (context.parent / "image.log").exists()


@pytest.mark.docker
def test_failed_build_is_told(context: Path, engine: docker.DockerClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert build(context).ready
    (context / "Dockerfile").write_text("FROM debian:bookworm-slim\nARG BUILD_CA=\nRUN echo about to fail && false\n")
    assert build(context).failed
    assert report(context)["state"] == "failed"
    assert "non-zero code" in str(report(context)["detail"])
    assert "the build failed" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # docker leaves its socket to the collector
def test_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    assert engine_version() is None
    gc.collect()


def test_content_hash_knows_names_contents_and_modes(context: Path) -> None:
    seen = {content_hash(context)}
    (context / "word").chmod(0o755)
    seen.add(content_hash(context))
    (context / "word").write_text("two")
    seen.add(content_hash(context))
    (context / "word").rename(context / "other")
    seen.add(content_hash(context))
    assert len(seen) == 4
    (context / "empty").mkdir()
    assert content_hash(context) in seen


def test_authorities_of_this_machine(tmp_path: Path) -> None:
    assert local_authorities(tmp_path) == ""
    (tmp_path / "b.crt").write_text("B")
    (tmp_path / "a.crt").write_text("A")
    (tmp_path / "note.txt").write_text("no certificate")
    assert local_authorities(tmp_path) == "A\nB"
