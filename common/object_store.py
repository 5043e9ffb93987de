"""Signed requests to S3-compatible object storages, through `common.http.outbound`, without redirects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from common import clock
from common.http.outbound import Answer, ask
from common.object_signing import encoded_path, encoded_query, signed_headers

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class Place:
    """Bucket with its endpoint, and the key for it."""

    endpoint: str
    region: str
    bucket: str
    prefix: str
    key_id: str
    secret: str = field(repr=False)
    virtual_host: bool = False

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint).netloc

    def named(self, name: str) -> str:
        """Return an object's full name, prefix included."""
        return "/".join(filter(None, (self.prefix, name)))


def send(
    place: Place,
    method: str,
    name: str = "",
    *,
    query: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send one request for an object of the bucket, or for the bucket itself.

    `headers` are sent unsigned.

    Raises:
        OutboundFault: there was no complete response.
    """
    scheme, host = urlsplit(place.endpoint).scheme, place.host
    if place.virtual_host:
        host, path = f"{place.bucket}.{host}", encoded_path(f"/{name}")
    else:
        path = encoded_path(f"/{place.bucket}/{name}" if name else f"/{place.bucket}")
    text = encoded_query(query)
    signed = signed_headers(
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
    sent = {**(headers or {}), **signed}
    return ask(method, url, headers=sent, body=body or None, timeout_s=_TIMEOUT_S, most_bytes=_MOST_BYTES)
