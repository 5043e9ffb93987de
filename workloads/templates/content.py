"""What one version of a template says: checked, and hashed as canonical JSON."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django.utils.translation import gettext as _

from accounts.models import User
from common.errors import DomainError, FieldError, InvalidInput, NotFound
from common.printable import replace_unprintable
from instances.constants import EXTRA_PORTS_AT_MOST
from instances.launch.settings import SETTING_NAMES, refusal
from instances.launch.settings import validate as validate_launch
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.search.language.options import to_query
from marketplace.search.language.parser import find_in_line, write_line
from storage.images.selectors import find_image
from workloads.constants import FILTER_CHARS, README_BYTES
from workloads.templates.inputs import Wrong, read_inputs, read_ports, with_secret_names

if TYPE_CHECKING:
    from storage.models import Image

CONTENT_NAMES: Final = (
    *("image", "launch", "inputs", "ports", "filter", "min_vram_gb", "min_cuda", "min_driver", "data_disk_gb", "readme"),
)
# Terms and options of a search that no template may set, as a search line writes them.
_RENTERS_CHOICE: Final = {"host": "host", "count": "count", "gpu_count": "count"}
_VRAM_MOST: Final = 1024
_CUDA: Final = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")
_DRIVER: Final = re.compile(r"[0-9]{1,5}(\.[0-9]{1,5}){0,2}")


def read_content(owner: User | None, data: Mapping[str, Any]) -> tuple[dict[str, Any], "Image"]:
    """Return the content in its stored form and its image, or raise InvalidInput with all that is wrong.

    The image must be one that the owner may run: official, a community one, or their own.
    """
    wrong: Wrong = []
    image = _image(owner, data.get("image"), wrong)
    content = _rest(data, wrong)
    if wrong or image is None:
        raise refusal(wrong)
    return {"image": image.slug, "reference": image.reference, **content}, image


def read_content_without_image(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content beside its image, or raise InvalidInput with all that is wrong."""
    wrong: Wrong = []
    content = _rest(data, wrong)
    if wrong:
        raise refusal(wrong)
    return content


def _rest(data: Mapping[str, Any], wrong: Wrong) -> dict[str, Any]:
    wrong += [
        FieldError(replace_unprintable(str(name)[:80]), "unknown", _("A template has no such field."))
        for name in data
        if name not in CONTENT_NAMES
    ]
    inputs = with_secret_names(read_inputs(data.get("inputs"), wrong), data.get("launch"), wrong)
    launch = _launch(data.get("launch"), {each["name"] for each in inputs}, wrong)
    return {
        "launch": launch,
        "inputs": inputs,
        "ports": read_ports(data.get("ports"), EXTRA_PORTS_AT_MOST, wrong),
        "filter": _filter(data.get("filter"), wrong),
        "min_vram_gb": _whole("min_vram_gb", data.get("min_vram_gb"), _VRAM_MOST, wrong),
        "min_cuda": _version("min_cuda", data.get("min_cuda"), _CUDA, wrong),
        "min_driver": _version("min_driver", data.get("min_driver"), _DRIVER, wrong),
        "data_disk_gb": _whole("data_disk_gb", data.get("data_disk_gb"), DATA_DISK_GB_MAX, wrong, least=0),
        "readme": _readme(data.get("readme"), wrong),
    }


def hash_of(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content as JSON with sorted keys and no spaces, in hex."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _image(owner: User | None, text: object, wrong: Wrong) -> "Image | None":
    if not isinstance(text, str) or not text:
        wrong.append(FieldError("image", "required", _("Choose an image.")))
        return None
    try:
        return find_image(text, owner)
    except (NotFound, InvalidInput):
        wrong.append(
            FieldError("image", "not_found", _("There is no such image. Use an official image, or add yours first."))
        )
        return None


def _launch(data: object, input_names: set[str], wrong: Wrong) -> dict[str, Any]:
    """Return the settings as `validate` of launch settings stores them, without secrets."""
    fields = {} if data is None else data
    if not isinstance(fields, Mapping):
        wrong.append(FieldError("launch", "invalid", _("Send an object of launch settings.")))
        return {}
    try:
        settings = validate_launch({name: value for name, value in fields.items() if name != "secrets"})
    except InvalidInput as error:
        wrong += [FieldError(f"launch.{each.field}", each.code, each.detail) for each in error.errors]
        return {}
    for name in sorted(settings.env.keys() & input_names):
        wrong.append(FieldError(f"launch.env.{name}", "duplicate", _("This name is also an input. Use it once.")))
    plain = settings.plain
    return {name: plain[name] for name in SETTING_NAMES if name != "secrets"}


def _filter(text: object, wrong: Wrong) -> str:
    if text in (None, ""):
        return ""
    if not isinstance(text, str) or len(text) > FILTER_CHARS:
        detail = _("Enter a search line of at most %(most)s characters.") % {"most": FILTER_CHARS}
        wrong.append(FieldError("filter", "max_length", detail))
        return ""
    try:
        found = find_in_line(text)
    except DomainError as error:
        hint = getattr(error, "hint", "")
        wrong.append(FieldError("filter", error.code, f"{error.detail} {hint}".strip()))
        return ""
    stated = {*(each.term for each in found.conditions), *found.options}
    chosen = sorted({_RENTERS_CHOICE[name] for name in stated & _RENTERS_CHOICE.keys()})
    if chosen:
        detail = _("Leave out %(names)s: the renter chooses the host and the number of GPUs.") % {"names": ", ".join(chosen)}
        wrong.append(FieldError("filter", "renters_choice", detail))
        return ""
    written = write_line(to_query(found))
    return written if len(written) <= FILTER_CHARS else text


def _whole(field: str, value: object, most: int, wrong: Wrong, *, least: int = 1) -> int | None:
    if value is None or value == "":
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        detail = _("Enter a whole number from %(least)s to %(most)s.") % {"least": least, "most": most}
        wrong.append(FieldError(field, "invalid", detail))
        return None
    return value


def _version(field: str, value: object, pattern: re.Pattern[str], wrong: Wrong) -> str:
    if value in (None, ""):
        return ""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        wrong.append(FieldError(field, "invalid", _("Enter a version, such as 12.4 or 550.54.")))
        return ""
    return value


def _readme(text: object, wrong: Wrong) -> str:
    if text in (None, ""):
        return ""
    if not isinstance(text, str) or not _is_storable(text):
        wrong.append(FieldError("readme", "invalid", _("Send a text without NUL characters.")))
        return ""
    lines = text.replace("\r\n", "\n")
    if len(lines.encode()) > README_BYTES:
        detail = _("Use at most %(most)s KiB.") % {"most": README_BYTES // 1024}
        wrong.append(FieldError("readme", "max_length", detail))
        return ""
    return lines


def _is_storable(text: str) -> bool:
    return "\0" not in text and not any(0xD800 <= ord(char) <= 0xDFFF for char in text)  # noqa: PLR2004  (surrogates)
