"""Tries a place in an object storage: its folder is listed, and a small object written and deleted again.

Every request goes through the door that checks addresses; nothing is redirected.
"""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from common import clock
from common.outbound import Answer, OutboundFault, ask
from storage.errors import BucketMissing, StorageLoginRefused, StorageUnreachable
from storage.object_store.signing import encoded_path, encoded_query, signed_headers

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 256 * 1024
_PROBE: Final = ".berth-probe"
_CODE: Final = re.compile(r"<Code>([A-Za-z0-9.]{1,80})</Code>")
OK, NO_CONTENT, FORBIDDEN, UNAUTHORIZED, NOT_FOUND = 200, 204, 403, 401, 404
# Said by those that want the bucket in the host's name.
_WANTS_HOST: Final = frozenset(
    {"SecondLevelDomainForbidden", "PathStyleDomainForbidden", "VirtualHostDomainRequired", "PermanentRedirect"}
)


@dataclass(frozen=True)
class Place:
    """Where, and as whom."""

    endpoint: str
    region: str
    bucket: str
    prefix: str
    key_id: str
    secret: str = field(repr=False)
    virtual_host: bool = False


@dataclass(frozen=True)
class Checked:
    """What was found out."""

    virtual_host: bool
    can_write: bool


def check_place(place: Place) -> Checked:
    """Raises StorageUnreachable, StorageLoginRefused or BucketMissing. It waits for others: outside of transactions."""
    answer, virtual = _list(place), place.virtual_host
    if not virtual and _code(answer) in _WANTS_HOST:
        place, virtual = _with_virtual_host(place), True
        answer = _list(place)
    _check_listed(place, answer)
    return Checked(virtual, _can_write(place))


def _with_virtual_host(place: Place) -> Place:
    return Place(place.endpoint, place.region, place.bucket, place.prefix, place.key_id, place.secret, virtual_host=True)


def _list(place: Place) -> Answer:
    prefix = f"{place.prefix}/" if place.prefix else ""
    return _send(place, "GET", "", [("list-type", "2"), ("max-keys", "1"), ("prefix", prefix)])


def _can_write(place: Place) -> bool:
    name = "/".join(filter(None, (place.prefix, _PROBE)))
    if _send(place, "PUT", name, body=b"berth").status != OK:
        return False
    return _send(place, "DELETE", name).status in (OK, NO_CONTENT)


def _check_listed(place: Place, answer: Answer) -> None:
    if answer.status == OK:
        if b"<ListBucketResult" not in answer.body:
            raise StorageUnreachable("What answers there is no S3-compatible object storage.")
        return
    code = _code(answer)
    if code == "NoSuchBucket" or (answer.status == NOT_FOUND and not code):
        raise BucketMissing(f"There is no bucket {place.bucket} at {_host(place.endpoint)}.")
    if answer.status in (FORBIDDEN, UNAUTHORIZED):
        raise StorageLoginRefused(
            f"{_host(place.endpoint)} does not let this key list the folder ({code or answer.status})."
        )
    raise StorageUnreachable(f"{_host(place.endpoint)} answers with status {answer.status} {code}".strip() + ".")


def _send(place: Place, method: str, name: str, query: list[tuple[str, str]] | None = None, body: bytes = b"") -> Answer:
    scheme, host = urlsplit(place.endpoint).scheme, _host(place.endpoint)
    if place.virtual_host:
        host, path = f"{place.bucket}.{host}", encoded_path(f"/{name}")
    else:
        path = encoded_path(f"/{place.bucket}/{name}" if name else f"/{place.bucket}")
    text = encoded_query(query or [])
    headers = signed_headers(
        method=method,
        host=host,
        path=path,
        query=text,
        body=body,
        region=place.region,
        key_id=place.key_id,
        secret=place.secret,
        at=clock.now(),
    )
    url = f"{scheme}://{host}{path}" + (f"?{text}" if text else "")
    try:
        return ask(method, url, headers=headers, body=body or None, timeout_s=_TIMEOUT_S, most_bytes=_MOST_BYTES)
    except OutboundFault as fault:
        raise StorageUnreachable(f"{host} cannot be asked: {fault.detail}", reason=fault.code) from fault


def _code(answer: Answer) -> str:
    found = _CODE.search(answer.body.decode(errors="replace"))
    return found.group(1) if found else ""


def _host(endpoint: str) -> str:
    return urlsplit(endpoint).netloc
