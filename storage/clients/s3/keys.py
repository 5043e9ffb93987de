"""Parsing of endpoints, buckets and folders of object storage as users write them."""

import re
from typing import Final

from django.utils.translation import gettext as _

from common.errors import wrong_field
from common.http.outbound import OutboundFault, parse_target

_BUCKET: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_FOLDER_MOST: Final = 300


def parse_endpoint(text: str) -> str:
    """Return the endpoint as a URL without a path, or raise InvalidInput.

    `s3.example.com` means `https://s3.example.com`.
    """
    text = text.strip().rstrip("/")
    url = text if "://" in text else f"https://{text}"
    try:
        target = parse_target(url)
    except OutboundFault as fault:
        raise wrong_field("endpoint", fault.detail) from fault
    if target.path not in ("", "/"):
        raise wrong_field("endpoint", _("Enter only the service address; the bucket and folder have their own fields."))
    return f"{target.scheme}://{target.host_header}"


def parse_bucket(text: str) -> str:
    """Return the bucket name, or raise InvalidInput."""
    if not _BUCKET.fullmatch(text) or ".." in text:
        raise wrong_field("bucket", _("Enter a bucket name with 3 to 63 lowercase letters, digits, dots and hyphens."))
    return text


def parse_folder(field: str, text: str) -> str:
    """Return a folder's path in a bucket or on a disk without slashes at its ends, or raise InvalidInput.

    An empty path means the whole bucket or disk.
    """
    parts = [part for part in text.strip().split("/") if part not in ("", ".")]
    folder = "/".join(parts)
    if _CONTROL.search(folder) or ".." in parts or len(folder) > _FOLDER_MOST:
        raise wrong_field(
            field, _("Enter a folder path, such as models/v2, of up to %(most)s characters.") % {"most": _FOLDER_MOST}
        )
    return folder
