"""Image requests to a Docker Engine: pull, push and save. Every call may raise the client's errors."""

import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import docker
from docker import auth

from agents.daemon.docker_engine.container_spec import OWN_LABELS, is_own_name
from agents.daemon.docker_engine.launch_spec import bare_config
from agents.daemon.engine.interface import EngineRefused, ImageFacts, ImageRequest
from agents.daemon.engine.pull_watch import Line, supervise_pull

SILENCE_MORE_S: Final = 5.0  # the engine may be silent for this much longer than a pull may stall
_HUB: Final = re.compile(r"^(index\.)?docker\.io/")  # left out in the engine's own names of images


def pull(client: Any, wanted: ImageRequest, cancelled: threading.Event) -> None:
    repository, tag = split_reference(wanted.reference)
    if is_own_name(f"{_HUB.sub('', repository)}:"):
        raise EngineRefused(f"{repository} is a name that this host gives to images itself")
    _request_with_progress(client, "/images/create", {"fromImage": repository, "tag": tag}, wanted, cancelled)


def push(client: Any, wanted: ImageRequest, cancelled: threading.Event) -> str:
    """Push an image and return its digest in the registry."""
    repository, tag = split_reference(wanted.reference)
    digests: list[str] = []

    def note(line: Line) -> None:
        if isinstance(line.get("aux"), dict) and line["aux"].get("Digest"):
            digests.append(str(line["aux"]["Digest"]))

    _request_with_progress(client, f"/images/{repository}/push", {"tag": tag}, wanted, cancelled, note=note)
    if not digests:
        raise EngineRefused("the registry named no digest for what it was sent")
    return digests[-1]


def save(client: Any, container: str, reference: str) -> None:
    repository, tag = split_reference(reference)
    own = " ".join(f'{name}=""' for name in OWN_LABELS)  # else it would count as a leftover of the instance
    conf = bare_config(client, container)
    client.commit(container, repository=repository, tag=tag, changes=[f"LABEL {own}"], conf=conf)


def facts_of(found: Mapping[str, Any], engine_architecture: str) -> ImageFacts:
    env = dict(str(line).partition("=")[::2] for line in (found.get("Config") or {}).get("Env") or [])
    digests = [str(text).partition("@")[2] for text in found.get("RepoDigests") or []]
    return ImageFacts(
        architecture=str(found.get("Architecture") or ""),
        engine_architecture=engine_architecture,
        env=env,
        size_bytes=int(found.get("Size") or 0),
        digest=digests[0] if digests else "",
    )


def room_at(path: str) -> int:
    """Return the free bytes there; practically no limit if the engine's disk is not visible here."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return 2**62


def size_at(path: str) -> int:
    """Return the size of the disk there in bytes, as seen by `room_at`."""
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return 2**62
    return usage.used + usage.free


def split_reference(reference: str) -> tuple[str, str]:
    repository, tag = docker.utils.parse_repository_tag(reference)
    return str(repository), str(tag or "latest")


def _request_with_progress(
    client: Any,
    path: str,
    params: Mapping[str, str],
    wanted: ImageRequest,
    cancelled: threading.Event,
    *,
    note: Callable[[Line], None] = lambda line: None,
) -> None:
    """Send a request and read its lines; release the engine's connection however it ends.

    The engine gives up a pull that nobody reads.
    """
    held: list[Any] = []

    def lines() -> Iterator[Line]:
        response = client.post(
            client._url(path),
            params=params,
            headers={"X-Registry-Auth": auth.encode_header(dict(wanted.auth))},
            stream=True,
            timeout=wanted.stall_s + SILENCE_MORE_S,
        )
        client._raise_for_status(response)
        stream = docker.types.CancellableStream(client._stream_helper(response, decode=True), response)
        held.append(stream)
        for line in stream:
            note(line)
            yield line

    try:
        supervise_pull(lines, wanted, cancelled)
    finally:
        for stream in held:
            with suppress(OSError, AttributeError):  # it has ended by itself meanwhile
                stream.close()
