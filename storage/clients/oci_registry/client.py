"""Client of OCI registries.

Each address that a registry names (a redirect, a token service) passes the same check as the first one. The user name
and password are sent to the registry and the token service that it names, never along a redirect.
"""

import base64
import hashlib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode, urljoin

from django.conf import settings

from common.http.outbound import OutboundFault, OutboundResponse, send_request
from storage.clients.oci_registry import manifests
from storage.clients.oci_registry.references import ImageName, api_host
from storage.errors import (
    ImageMissing,
    ImagePrivate,
    ImageUnreadable,
    RegistryBusy,
    RegistryLoginRefused,
    RegistryUnreachable,
)

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 4 * 1024 * 1024
_HOPS: Final = 3
_PARAMETER: Final = re.compile(r'([a-z]+)="([^"]*)"')
OK, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TOO_MANY = 200, 401, 403, 404, 429


@dataclass(frozen=True)
class Login:
    username: str
    password: str = field(repr=False)

    @property
    def basic(self) -> str:
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass
class _Registry:
    """Session with one registry for one operation; it keeps the authorisation once it has got one."""

    host: str
    login: Login | None
    _authorization: str = ""

    def get(self, path: str, accept: str = "*/*") -> OutboundResponse:
        """Send a GET request and return the answer, after fetching a token where the registry asks for one.

        Raises RegistryBusy for status 429 and RegistryUnreachable for faults of the registry.
        """
        url = f"{_scheme(self.host)}://{api_host(self.host)}{path}"
        answer = self._request(url, accept)
        if answer.status == UNAUTHORIZED and not self._authorization:
            self._authorization = self._authorization_for(answer.headers.get("www-authenticate", ""))
            answer = self._request(url, accept) if self._authorization else answer
        if answer.status == TOO_MANY:
            raise RegistryBusy(f"{self.host} has had too many questions; try again in some minutes.")
        if answer.status >= 500:  # noqa: PLR2004  (any fault of its own)
            raise RegistryUnreachable(f"{self.host} answers with status {answer.status}.")
        return answer

    def _request(self, url: str, accept: str) -> OutboundResponse:
        headers = {"Accept": accept, "User-Agent": "berth"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        answer = self._fetch(url, headers)
        for _ in range(_HOPS):
            place = answer.headers.get("location", "")
            if not 300 <= answer.status < 400 or not place:  # noqa: PLR2004  (redirects)
                break
            # Registries as a rule redirect to another server for blobs; the login is not sent along.
            url = urljoin(url, place)
            answer = self._fetch(url, {"Accept": accept, "User-Agent": "berth"})
        return answer

    def _fetch(self, url: str, headers: Mapping[str, str]) -> OutboundResponse:
        try:
            return send_request("GET", url, headers=headers, timeout_s=_TIMEOUT_S, most_bytes=_MOST_BYTES)
        except OutboundFault as fault:
            raise RegistryUnreachable(f"{self.host} can't be reached: {fault.detail}", reason=fault.code) from fault

    def _authorization_for(self, challenge: str) -> str:
        """Return the `Authorization` header that answers a challenge, or "" where there is none to send."""
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic":
            return self.login.basic if self.login else ""
        if kind.lower() != "bearer":
            return ""
        parameters = dict(_PARAMETER.findall(rest))
        query = urlencode({name: parameters[name] for name in ("service", "scope") if name in parameters})
        headers = {"Accept": "application/json", "User-Agent": "berth"}
        if self.login:
            headers["Authorization"] = self.login.basic
        realm = parameters.get("realm", "")
        answer = self._fetch(f"{realm}{'&' if '?' in realm else '?'}{query}", headers)
        if answer.status in (UNAUTHORIZED, FORBIDDEN) and self.login:
            raise RegistryLoginRefused(f"{self.host} rejected this user name and password.")
        if answer.status != OK:
            return ""
        issued = manifests.read_json(answer.body, "token")
        return f"Bearer {issued.get('token') or issued.get('access_token') or ''}"


def check_login(host: str, login: Login) -> None:
    """Check a login, or raise RegistryLoginRefused.

    It is also raised for a registry that lets everybody in, since its images need no login.
    """
    open_to_all = _Registry(host, None).get("/v2/")
    registry = _Registry(host, login)
    answer = registry.get("/v2/")
    if answer.status in (UNAUTHORIZED, FORBIDDEN):
        raise RegistryLoginRefused(f"{host} rejected this user name and password.")
    if answer.status != OK:
        raise RegistryUnreachable(f"{host} does not answer as a registry: status {answer.status}.")
    if open_to_all.status == OK and host != "docker.io":
        raise RegistryLoginRefused(f"{host} doesn't require a login; add its images by name.")


def read_image(name: ImageName, login: Login | None) -> manifests.Found:
    """Read an image's digest, size, architectures, CUDA version and services from its registry.

    Raises the errors of `storage.errors` whose names begin with Image and Registry.
    """
    registry = _Registry(name.registry, login)
    digest, manifest, kind = _manifest(registry, name, name.wanted)
    architectures: tuple[str, ...] = ()
    if manifests.is_index(manifest, kind):
        by_name = manifests.architectures_of(manifest)
        manifests.check_architecture(by_name)
        architectures = tuple(sorted(by_name))
        _, manifest, _ = _manifest(registry, name, by_name[manifests.ARCHITECTURE])
    own = manifests.manifest_of(manifest)
    config = _config(registry, name, own.config_digest)
    if not architectures:
        architectures = (str(config.get("architecture", ""))[:20],)
        manifests.check_architecture(architectures)
    return manifests.Found(
        digest=digest,
        size_bytes=own.size_bytes,
        architectures=architectures,
        cuda=manifests.cuda_of(config),
        services=manifests.services_of(config),
        private=login is not None and _is_private(name),
    )


def _is_private(name: ImageName) -> bool:
    """Return whether the image cannot be read without a login; hosts then pull it with the owner's."""
    try:
        answer = _Registry(name.registry, None).get(_manifest_path(name, name.wanted), manifests.ACCEPT)
    except (RegistryBusy, RegistryUnreachable):
        return True
    return answer.status != OK


def _manifest(registry: _Registry, name: ImageName, wanted: str) -> tuple[str, dict[str, object], str]:
    """Return digest, content and content type of a manifest.

    The digest is computed from what was read, never taken from the registry's headers.
    """
    answer = registry.get(_manifest_path(name, wanted), manifests.ACCEPT)
    _check_found(registry, name, answer)
    digest = _digest(answer.body)
    if wanted.startswith("sha256:") and wanted != digest:
        raise ImageUnreadable("The registry sends something else than what its digest names.")
    return digest, manifests.read_json(answer.body, "manifest"), answer.headers.get("content-type", "")


def _config(registry: _Registry, name: ImageName, digest: str) -> dict[str, object]:
    answer = registry.get(f"/v2/{name.repository}/blobs/{digest}")
    _check_found(registry, name, answer)
    if _digest(answer.body) != digest:
        raise ImageUnreadable("The registry sends something else than what its digest names.")
    return manifests.read_json(answer.body, "configuration")


def _check_found(registry: _Registry, name: ImageName, answer: OutboundResponse) -> None:
    if answer.status in (UNAUTHORIZED, FORBIDDEN):
        reason = "the saved login may not read it" if registry.login else f"save a login for {name.registry} to use it"
        raise ImagePrivate(f"{name.short} is private, or does not exist: {reason}.")
    if answer.status == NOT_FOUND:
        raise ImageMissing(f"{name.registry} has no image {name.repository} with {name.wanted}.")
    if answer.status != OK:
        raise RegistryUnreachable(f"{name.registry} answers with status {answer.status}.")


def _manifest_path(name: ImageName, wanted: str) -> str:
    return f"/v2/{name.repository}/manifests/{wanted}"


def _digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def _scheme(host: str) -> str:
    """Return `http` for addresses in the networks that the operator has allowed, else `https`.

    Container engines also speak plain HTTP to registries on their own machine.
    """
    name = "127.0.0.1" if host.partition(":")[0] == "localhost" else host.rpartition(":")[0] or host
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return "https"
    opened = [ipaddress.ip_network(text) for text in settings.OUTBOUND_ALLOWED_NETWORKS]
    return "http" if any(address in network for network in opened if network.version == address.version) else "https"
