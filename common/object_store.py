"""Signed requests to S3-compatible object storages, through `common.http.outbound`, without redirects.

They are signed with AWS Signature Version 4.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlsplit

from common import clock
from common.http.outbound import OutboundResponse, send_request

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_SERVICE: Final = "s3"
_SAFE: Final = "-_.~"
_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 256 * 1024


def encoded_path(path: str) -> str:
    return quote(path, safe=f"/{_SAFE}")


def encoded_query(pairs: Sequence[tuple[str, str]]) -> str:
    coded = [(quote(name, safe=_SAFE), quote(value, safe=_SAFE)) for name, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(coded))


def signed_headers(
    *,
    method: str,
    host: str,
    path: str,
    query: str,
    body: bytes,
    region: str,
    key_id: str,
    secret: str,
    at: datetime,
) -> Mapping[str, str]:
    """Return the headers of a signed request; `path` and `query` are encoded already."""
    stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{_SERVICE}/aws4_request"
    digest = hashlib.sha256(body).hexdigest()
    own = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": stamp}
    names = ";".join(sorted(own))
    lines = "".join(f"{name}:{own[name]}\n" for name in sorted(own))
    request = "\n".join([method, path, query, lines, names, digest])
    to_sign = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    signature = hmac.new(_key(secret, stamp[:8], region), to_sign.encode(), hashlib.sha256).hexdigest()
    header = f"{_ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {"x-amz-content-sha256": digest, "x-amz-date": stamp, "Authorization": header}


def _key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, _SERVICE, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


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
) -> OutboundResponse:
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
    return send_request(method, url, headers=sent, body=body or None, timeout_s=_TIMEOUT_S, most_bytes=_MOST_BYTES)
