"""Build of the official base image on the local engine, in the background, with its progress.

Checkouts that share an engine may have different images. Each has its own, with a name that depends on its content;
the plain name refers to the one that was built last, and is for tools only.
"""

import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import docker
import requests
from docker.errors import DockerException

from devserver.paths import ROOT
from devserver.terminal import print_status

REFERENCE = "berth/base:1"
SYNC_REFERENCE = "berth/sync:1"
BASE_FOLDER = ROOT / "images" / "base"
SYNC_FOLDER = ROOT / "images" / "sync"
CONTENT_LABEL = "berth.content"
LOCAL_AUTHORITIES = Path("/usr/local/share/ca-certificates")
_PING_TIMEOUT_S = 3
_BUILD_TIMEOUT_S = 1_800
_STEP = re.compile(r"Step (\d+)/(\d+) : (.+)")


@dataclass(frozen=True)
class BuildProgress:
    """Content of image-build.json."""

    state: Literal["building", "ready", "failed"]
    reference: str = REFERENCE
    step: int = 0
    steps: int = 0
    doing: str = ""
    seconds: float = 0.0
    detail: str = ""


def engine_version() -> str | None:
    """Return the version of the container engine, or None if none answers."""
    try:
        client = docker.from_env(timeout=_PING_TIMEOUT_S)
    except DockerException:
        return None
    try:
        return str(client.version()["Version"])
    except (DockerException, requests.RequestException):
        return None
    finally:
        client.close()


class ImageBuild:
    """One build, in a thread of its own, with its outcome in `ready` and `failed`."""

    def __init__(self, context: Path, report: Path, log: Path) -> None:
        self._context, self._report, self._log = context, report, log
        self._thread = threading.Thread(target=self._run, name="image-build", daemon=True)
        self._started = time.monotonic()
        self._progress = BuildProgress(state="building")

    @property
    def ready(self) -> bool:
        return self._progress.state == "ready"

    @property
    def failed(self) -> bool:
        return self._progress.state == "failed"

    def start(self) -> None:
        self._write_progress(state="building")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._build()
        except (DockerException, requests.RequestException, OSError, KeyError) as error:
            print_status(f"image {REFERENCE}: the build failed: {error} (log: {self._log}); real containers stay off")
            self._write_progress(state="failed", detail=str(error))

    def _build(self) -> None:
        with contextlib.closing(docker.APIClient(timeout=_BUILD_TIMEOUT_S)) as client:
            self._build_unless_there(client)
            self._write_progress(state="ready")
            self._build_sync(client, self._context.parent / SYNC_FOLDER.name)

    def _build_unless_there(self, client: Any) -> None:
        content, own = content_hash(self._context), own_reference(REFERENCE, self._context)
        if not _is_there(client, own, built_as=REFERENCE, content=content):
            print_status(f"image {REFERENCE}: building from {self._context} (once, some minutes; log: {self._log})")
            stream = client.build(
                path=str(self._context),
                tag=own,
                rm=True,
                forcerm=True,  # so that a failed step leaves no container either
                decode=True,
                labels={CONTENT_LABEL: content},
                buildargs={"BUILD_CA": local_authorities()},
            )
            self._show_progress(stream)
            _name(client, own, REFERENCE)
            print_status(f"image {REFERENCE}: built in {self._seconds():.0f} s")

    def _build_sync(self, client: Any, context: Path) -> None:
        """Build the image that copies disks to and from object storage; instances run without it."""
        if not context.is_dir():
            return
        content, own = content_hash(context), own_reference(SYNC_REFERENCE, context)
        if _is_there(client, own, built_as=SYNC_REFERENCE, content=content):
            return
        options: dict[str, Any] = {"rm": True, "forcerm": True, "decode": True, "labels": {CONTENT_LABEL: content}}
        try:
            for line in client.build(path=str(context), tag=own, **options):
                if "error" in line:
                    raise DockerException(str(line["error"]).strip())
            _name(client, own, SYNC_REFERENCE)
            print_status(f"image {SYNC_REFERENCE}: built; disks can be copied to object storage")
        except (DockerException, requests.RequestException) as error:
            print_status(f"image {SYNC_REFERENCE}: the build failed: {error}; no disk can be copied to object storage")

    def _show_progress(self, stream: Iterator[dict[str, Any]]) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            for line in stream:
                if "error" in line:
                    raise DockerException(str(line["error"]).strip())
                text = str(line.get("stream", ""))
                log.write(text)
                log.flush()
                self._show_step(text)

    def _show_step(self, text: str) -> None:
        found = _STEP.match(text)
        if found is None:
            return
        step, steps, doing = int(found[1]), int(found[2]), found[3].strip()[:60]
        print_status(f"image {REFERENCE}: step {step} of {steps}: {doing}")
        self._write_progress(state="building", step=step, steps=steps, doing=doing)

    def _write_progress(self, *, state: Literal["building", "ready", "failed"], **more: Any) -> None:
        self._progress = BuildProgress(state=state, seconds=round(self._seconds(), 1), **more)
        draft = self._report.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self._progress), indent=2) + "\n", encoding="utf-8")
        draft.replace(self._report)

    def _seconds(self) -> float:
        return time.monotonic() - self._started


def local_authorities(folder: Path = LOCAL_AUTHORITIES) -> str:
    """Return certificates that this machine's owner added, which builds need behind TLS inspection."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.crt")))


def content_hash(context: Path) -> str:
    """Return a hash of the build's files; as a label of the image it shows when they have changed."""
    digest = hashlib.sha256()
    for path in sorted(path for path in context.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(context)}\0{path.stat().st_mode & 0o111}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def own_reference(reference: str, context: Path) -> str:
    """Return the name of this checkout's own build."""
    return f"{reference}-{content_hash(context)[:12]}"


def _is_there(client: Any, own: str, *, built_as: str, content: str) -> bool:
    """Return whether the image exists; one from before images had such names is given its name."""
    if _content_of(client, own) == content:
        return True
    if _content_of(client, built_as) != content:
        return False
    _name(client, built_as, own)
    return True


def _name(client: Any, reference: str, name: str) -> None:
    repository, _, tag = name.rpartition(":")
    client.tag(reference, repository, tag, force=True)


def _content_of(client: Any, reference: str) -> str:
    try:
        labels = client.inspect_image(reference)["Config"]["Labels"] or {}
    except docker.errors.ImageNotFound:
        return ""
    return str(labels.get(CONTENT_LABEL, ""))
