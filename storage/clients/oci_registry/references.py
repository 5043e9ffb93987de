"""Image names as users write them, and in the forms that a registry and an engine need."""

import re
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from common.errors import wrong_field

HUB: Final = "docker.io"
_HUB_NAMES: Final = (HUB, "index.docker.io", "registry-1.docker.io", "hub.docker.com")
_HUB_API: Final = "registry-1.docker.io"
_MOST_CHARS: Final = 255
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?))*(?::[0-9]{1,5})?")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class ImageName:
    """Location of an image in a registry, by tag or by digest alone."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def wanted(self) -> str:
        """Return the tag or digest to request from the registry."""
        return self.digest or self.tag

    @property
    def text(self) -> str:
        """Return the full name, with registry, repository and tag or digest."""
        return f"{self.registry}/{self.repository}" + (f"@{self.digest}" if self.digest else f":{self.tag}")

    @property
    def short(self) -> str:
        """Return the name without the default registry, the `library/` prefix and the `latest` tag."""
        text = self.text.removeprefix(f"{HUB}/library/").removeprefix(f"{HUB}/")
        return text.removesuffix(":latest")

    def pinned(self, digest: str) -> str:
        """Return the name with this digest, which stays the same whatever the tag refers to later."""
        return f"{self.registry}/{self.repository}@{digest}"


def parse_name(text: str) -> ImageName:
    """Parse a name as users write it, or raise InvalidInput.

    Such names are `ubuntu`, `pytorch/pytorch:2.4.0` and `registry.example.com/team/image@sha256:…`.
    """
    name = text.strip().removeprefix("https://").removeprefix("docker://")
    rest, _, digest = name.partition("@")
    first, slash, behind = rest.partition("/")
    registry, path = (first, behind) if slash and _is_host(first) else (HUB, rest)
    repository, colon, tag = path.rpartition(":") if ":" in path else (path, "", "")
    tag = tag if colon else ("" if digest else "latest")
    registry = HUB if registry.lower() in _HUB_NAMES else registry.lower()
    if registry == HUB and "/" not in repository:
        repository = f"library/{repository}"
    _check(text, registry, repository, tag, digest)
    return ImageName(registry, repository, "" if digest else tag, digest)


def parse_registry(text: str) -> str:
    """Parse a registry's host, as image names begin with it, or raise InvalidInput."""
    host = text.strip().lower().removeprefix("https://").rstrip("/")
    host = HUB if host in _HUB_NAMES or host == "index.docker.io/v1" else host
    if not _HOST.fullmatch(host) or not _is_host(host) or len(host) > _MOST_CHARS:
        raise wrong_field("host", _("Enter the registry's host, such as registry.example.com:5000."))
    return host


def api_host(registry: str) -> str:
    """Return the host that serves a registry's API; Docker Hub's differs from its name."""
    return _HUB_API if registry == HUB else registry


def _is_host(part: str) -> bool:
    return "." in part or ":" in part or part == "localhost"


def _check(text: str, registry: str, repository: str, tag: str, digest: str) -> None:
    is_valid = (
        len(text) <= _MOST_CHARS
        and _HOST.fullmatch(registry)
        and _REPOSITORY.fullmatch(repository)
        and (not tag or _TAG.fullmatch(tag))
        and (not digest or _DIGEST.fullmatch(digest))
        and (tag or digest)
    )
    if not is_valid:
        raise wrong_field(
            "name", _("Enter a name as for docker pull: pytorch/pytorch:2.4.0 or registry.example.com/image@sha256:….")
        )
