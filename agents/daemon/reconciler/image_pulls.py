"""Pull of the image that an instance runs, with checks of the room before and of the image after it."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from agents.daemon.engine.image_cache import ImageCache
from agents.daemon.engine.interface import (
    ROOM_KEPT,
    STALL_SECONDS,
    TOTAL_SECONDS,
    EngineRefused,
    ImageFacts,
    ImageRequest,
    InsufficientDiskSpace,
    PullStalled,
    Runtime,
)
from agents.daemon.engine.pull_watch import UNPACKS_TO
from agents.daemon.lib.errors import Failed
from agents.daemon.reconciler.jobs import Job
from agents.protocol.progress_messages import say

GB = 1000**3
# Text of engines and registries → our code. The first match counts.
_KNOWN_ERRORS: Final[tuple[tuple[str, str], ...]] = (
    ("no matching manifest", "image_wrong_architecture"),
    ("no space left on device", "image_too_large"),
    ("toomanyrequests", "registry_busy"),
    ("too many requests", "registry_busy"),
    ("pull access denied", "image_private"),
    ("unauthorized", "image_private"),
    ("authentication required", "image_private"),
    ("no basic auth credentials", "image_private"),
    ("denied", "image_private"),
    ("manifest unknown", "image_missing"),
    ("not found", "image_missing"),
    ("does not exist", "image_missing"),
    ("dial tcp", "registry_silent"),
    ("i/o timeout", "registry_silent"),
    ("tls handshake", "registry_silent"),
    ("x509", "registry_silent"),
    ("connection reset", "registry_silent"),
    ("unexpected eof", "registry_silent"),
    ("server gave http response", "registry_silent"),
)
_SENTENCES: Final[Mapping[str, str]] = {
    "image_wrong_architecture": "The image is not made for this host's kind of processor.",
    "image_too_large": "The host's disk has no room for the image.",
    "registry_busy": "The registry has had too many questions; try again later.",
    "image_private": "The registry does not let this image be read with the login that there is.",
    "registry_silent": "The image's registry cannot be reached from this host.",
}
_REQUIRED: Final = re.compile(r"\bcuda\s*>=\s*([0-9]{1,2}\.[0-9]{1,2})")


class ImagePuller:
    """Pulls the images of one host, a few at a time."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        parallel: int,
        local: bool,
        stall_s: float = STALL_SECONDS,
        total_s: float = TOTAL_SECONDS,
        cuda: str = "",
        cache: ImageCache | None = None,
    ) -> None:
        self._runtime = runtime
        self._slots = threading.BoundedSemaphore(parallel)
        self._local = local
        self.cache = cache or ImageCache(runtime)
        self._pulls = 0
        self._counting = threading.Lock()
        self.busy = threading.Event()  # set while an image that an instance needs is being pulled
        self.stall_s = stall_s
        self.total_s = total_s
        self.cuda = cuda  # highest version that this host's driver supports; "": unknown

    def bring(self, job: Job) -> bool:
        """Make the instance's image available; return whether it had to be pulled.

        Raises:
            Failed: It cannot be had or does not fit this host; the text says what the renter can do.
        """
        image = job.desired.image
        self.cache.use(image)
        there = self._runtime.has_image(image)
        if not there:
            if self._local:
                raise Failed("image_missing", f"The image {image} is not on this host.")
            job.report("pulling", say("waiting_for_pull"))
            with self._busy(), job.passable(), self._slots:
                self._pull(job)
        if not job.desired.has_ssh:
            self._check_compatibility(self._runtime.image_facts(image))
        return not there

    @contextmanager
    def _busy(self) -> Iterator[None]:
        with self._counting:
            self._pulls += 1
            self.busy.set()
        try:
            yield
        finally:
            with self._counting:
                self._pulls -= 1
                if not self._pulls:
                    self.busy.clear()

    def _pull(self, job: Job) -> None:
        self._check_room(job.desired.image_bytes)
        self.cache.add(job.desired.image)
        try:
            self._pull_within_limits(job)
        except Failed:
            self.cache.forget(job.desired.image)
            raise

    def _pull_within_limits(self, job: Job) -> None:
        desired = job.desired
        pull = ImageRequest(
            reference=desired.image,
            said=job.report_layers,
            auth=desired.registry_auth,
            stall_s=self.stall_s,
            total_s=self.total_s,
            room=self._runtime.free_image_bytes,
        )
        try:
            self._runtime.pull_image(pull, job.cancelled)
        except PullStalled as error:
            raise Failed("image_pull_timeout", str(error)) from error
        except InsufficientDiskSpace as error:
            raise Failed("image_too_large", str(error)) from error
        except EngineRefused as error:
            raise Failed(*pull_failure(desired.image, str(error))) from error

    def _check_room(self, image_bytes: int) -> None:
        """Check the room for the image, and make some, before the pull.

        Raises:
            Failed: The host has no room for it.
        """
        needed = image_bytes * UNPACKS_TO + ROOM_KEPT
        self.cache.make_room(needed)
        free = self._runtime.free_image_bytes()
        if needed > free:
            detail = f"The image needs about {needed / GB:.1f} GB on the host's disk, {free / GB:.1f} GB are free."
            raise Failed("image_too_large", detail)

    def _check_compatibility(self, found: ImageFacts) -> None:
        """Check the pulled image's architecture and CUDA requirement.

        The market has checked them too, but what it read in the registry may be another architecture's
        configuration.

        Raises:
            Failed: The image does not fit this host.
        """
        if found.architecture and found.architecture != found.engine_architecture:
            detail = f"The image is made for {found.architecture}, this host is {found.engine_architecture}."
            raise Failed("image_wrong_architecture", detail)
        needed = _REQUIRED.search(found.env.get("NVIDIA_REQUIRE_CUDA", ""))
        if needed and self.cuda and _version(needed[1]) > _version(self.cuda):
            detail = f"The image needs CUDA {needed[1]}; the driver of this host supports {self.cuda}."
            raise Failed("image_needs_cuda", detail)


def pull_failure(image: str, output: str) -> tuple[str, str]:
    """Return code and sentence for the engine's answer to a failed pull."""
    lower = output.lower()
    code = next((code for words, code in _KNOWN_ERRORS if words in lower), "image_missing")
    detail = f"{_SENTENCES[code]} ({output[:200]})" if code in _SENTENCES else f"The image {image} cannot be had: {output}"
    return code, detail


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())
