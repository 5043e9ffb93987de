"""Signatures of the market's own requests to object storages: AWS Signature Version 4."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_SERVICE: Final = "s3"
_SAFE: Final = "-_.~"


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
    said = f"{_ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {"x-amz-content-sha256": digest, "x-amz-date": stamp, "Authorization": said}


def _key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, _SERVICE, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
