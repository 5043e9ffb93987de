"""Size, architectures, CUDA version and services of an image, from its manifest and configuration."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from storage.errors import ImageUnreadable, ImageWrongArchitecture

INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
ACCEPT: Final = ", ".join((*INDEXES, *MANIFESTS))
# The architecture of all hosts; the agent checks it again on its own machine.
ARCHITECTURE: Final = "amd64"
SERVICES_LABEL: Final = "berth.services"

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_REQUIRED: Final = re.compile(r"\bcuda\s*>=\s*([0-9]{1,2}\.[0-9]{1,2})")
_VERSION: Final = re.compile(r"([0-9]{1,2}\.[0-9]{1,2})(?:[.\-+ ].*)?")


@dataclass(frozen=True)
class Found:
    """An image as its registry describes it.

    `digest` is what its name refers to: the digest of the index where there is one, else that of the manifest.
    """

    digest: str
    size_bytes: int
    architectures: tuple[str, ...]
    cuda: str
    services: frozenset[str]
    private: bool = False


@dataclass(frozen=True)
class Manifest:
    """The manifest of one architecture, reduced to what is used."""

    config_digest: str
    size_bytes: int


def read_json(body: bytes, what: str) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ImageUnreadable(f"The registry's {what} is no JSON.") from error
    if not isinstance(found, dict):
        raise ImageUnreadable(f"The registry's {what} is not what it should be.")
    return found


def is_index(manifest: Mapping[str, Any], content_type: str) -> bool:
    return content_type.partition(";")[0].strip() in INDEXES or isinstance(manifest.get("manifests"), list)


def architectures_of(index: Mapping[str, Any]) -> dict[str, str]:
    """Map each Linux architecture in an index to the digest of its manifest."""
    found: dict[str, str] = {}
    for item in _dicts(index.get("manifests")):
        platform = item.get("platform")
        digest = item.get("digest")
        if isinstance(platform, dict) and platform.get("os") == "linux" and isinstance(digest, str):
            name = platform.get("architecture")
            if isinstance(name, str) and _DIGEST.fullmatch(digest):
                found.setdefault(name[:20], digest)
    return found


def check_architecture(names: Iterable[str]) -> None:
    there = sorted(set(names))
    if ARCHITECTURE not in there:
        listed = ", ".join(there) or "none that is known"
        raise ImageWrongArchitecture(f"It is made for {listed}; the hosts of this market are {ARCHITECTURE}.")


def manifest_of(manifest: Mapping[str, Any]) -> Manifest:
    """Read a manifest.

    Raises ImageUnreadable for malformed ones and for schema 1, which registries gave up in 2017.
    """
    config, layers = manifest.get("config"), list(_dicts(manifest.get("layers")))
    digest = config.get("digest") if isinstance(config, dict) else None
    sizes = [item.get("size") for item in layers]
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ImageUnreadable("Its manifest is of a kind that engines of today do not run.")
    whole = 0
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ImageUnreadable("Its manifest does not say how large it is.")
        whole += size
    return Manifest(digest, whole)


def cuda_of(config: Mapping[str, Any]) -> str:
    """Return the CUDA version that the image needs of the driver, or "" for none.

    It is read from `NVIDIA_REQUIRE_CUDA`, as NVIDIA's own images set it, or from a label.
    """
    inner = config.get("config")
    inner = inner if isinstance(inner, dict) else {}
    env = dict(str(line).partition("=")[::2] for line in inner.get("Env") or [] if isinstance(line, str))
    required = _REQUIRED.search(env.get("NVIDIA_REQUIRE_CUDA", ""))
    if required:
        return required[1]
    labels = _labels(inner)
    for text in (labels.get("com.nvidia.cuda.version", ""), labels.get("berth.cuda", ""), env.get("CUDA_VERSION", "")):
        version = _VERSION.fullmatch(str(text))
        if version:
            return version[1]
    return ""


def services_of(config: Mapping[str, Any]) -> frozenset[str]:
    """Return the services that the image runs, from the label that images inherit from our Dockerfiles."""
    inner = config.get("config")
    label = _labels(inner if isinstance(inner, dict) else {}).get(SERVICES_LABEL, "")
    return frozenset(part.strip() for part in str(label).split(",")) & {"ssh", "jupyter", "tensorboard"}


def _labels(inner: Mapping[str, Any]) -> Mapping[str, Any]:
    labels = inner.get("Labels")
    return labels if isinstance(labels, dict) else {}


def _dicts(items: object) -> Iterable[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
