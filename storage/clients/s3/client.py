"""Check of access to a folder in object storage.

The folder is listed, and a small object is written and deleted again. Every request passes the address check of
outbound requests, and no redirect is followed.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from common.http.outbound import OutboundFault, OutboundResponse
from common.object_store import Place, send
from storage.errors import BucketMissing, StorageLoginRefused, StorageUnreachable

_PROBE: Final = ".berth-probe"
_CODE: Final = re.compile(r"<Code>([A-Za-z0-9.]{1,80})</Code>")
OK, NO_CONTENT, FORBIDDEN, UNAUTHORIZED, NOT_FOUND = 200, 204, 403, 401, 404
# Error codes of storages that want the bucket in the host name.
_WANTS_HOST: Final = frozenset(
    {"SecondLevelDomainForbidden", "PathStyleDomainForbidden", "VirtualHostDomainRequired", "PermanentRedirect"}
)


@dataclass(frozen=True)
class ProbeResult:
    """Result of the check: how the bucket is addressed, and whether the key may write."""

    virtual_host: bool
    can_write: bool


def probe_place(place: Place) -> ProbeResult:
    """Check that the folder can be listed, and whether it can be written.

    It makes network requests, so call it outside of transactions. Raises StorageUnreachable, StorageLoginRefused or
    BucketMissing.
    """
    answer, virtual = _list(place), place.virtual_host
    if not virtual and _code(answer) in _WANTS_HOST:
        place, virtual = replace(place, virtual_host=True), True
        answer = _list(place)
    _check_listed(place, answer)
    return ProbeResult(virtual, _can_write(place))


def _list(place: Place) -> OutboundResponse:
    prefix = f"{place.prefix}/" if place.prefix else ""
    return _send(place, "GET", "", [("list-type", "2"), ("max-keys", "1"), ("prefix", prefix)])


def _can_write(place: Place) -> bool:
    name = place.named(_PROBE)
    if _send(place, "PUT", name, body=b"berth").status != OK:
        return False
    return _send(place, "DELETE", name).status in (OK, NO_CONTENT)


def _check_listed(place: Place, answer: OutboundResponse) -> None:
    if answer.status == OK:
        if b"<ListBucketResult" not in answer.body:
            raise StorageUnreachable("The endpoint isn't S3-compatible object storage.")
        return
    code = _code(answer)
    if code == "NoSuchBucket" or (answer.status == NOT_FOUND and not code):
        raise BucketMissing(f"There is no bucket {place.bucket} at {place.host}.")
    if answer.status in (FORBIDDEN, UNAUTHORIZED):
        raise StorageLoginRefused(f"{place.host} does not let this key list the folder ({code or answer.status}).")
    raise StorageUnreachable(f"{place.host} answers with status {answer.status} {code}".strip() + ".")


def _send(
    place: Place, method: str, name: str, query: list[tuple[str, str]] | None = None, body: bytes = b""
) -> OutboundResponse:
    try:
        return send(place, method, name, query=query or (), body=body)
    except OutboundFault as fault:
        raise StorageUnreachable(f"{place.host} can't be reached: {fault.detail}", reason=fault.code) from fault


def _code(answer: OutboundResponse) -> str:
    found = _CODE.search(answer.body.decode(errors="replace"))
    return found.group(1) if found else ""
