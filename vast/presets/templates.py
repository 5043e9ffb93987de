"""Launch templates: listed, made, given new versions and deleted, under the hash of a version."""

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common.db.transactions import joining
from common.errors import NotFound
from common.ids import parse_public_id
from vast.constants import GB_AT_MOST
from vast.create.bodies import read_create, read_template_hash
from vast.create.images import image_named
from vast.create.orders import launch_of, template_hash, template_text
from vast.errors import InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import key_of, number_of, numbers_of
from vast.search.filters import Filters, holds
from vast.values import read_number
from workloads.templates.gallery import search_templates
from workloads.templates.inputs import port_rows
from workloads.templates.selectors import PREFIX, find_version, template_key, version_of
from workloads.templates.services import create_template, create_version, delete_template, set_visibility, update_template

if TYPE_CHECKING:
    from workloads.models import LaunchTemplate, TemplateVersion

_LISTED_AT_MOST: Final = 500
# What the CLI adds to every template: true of each offer here, or asked by every search anyway.
_ALWAYS: Final = ("verified", "external", "rentable", "rented")


def template_rows(user: User, filters: Filters) -> list[dict[str, Any]]:
    """Return the templates that the user may see and that meet the filters; a hash finds its own version."""
    hash_id = filters.get("hash_id", {}).get("eq")
    if isinstance(hash_id, str):
        return [row for row in _one_version(user, hash_id) if holds(row, filters)]
    found = [(row, version_of(user, row)) for row in search_templates(user)[:_LISTED_AT_MOST]]
    return [row for row in _rows(found) if holds(row, filters)]


def make_template(*, owner: User, body: Mapping[str, Any]) -> dict[str, Any]:
    """Make a template; with `private` false it is submitted to the public list."""
    content = _content(owner, body)
    with joining():
        template = create_template(owner=owner, title=_name(body), content=content, description=_desc(body))
        if body.get("private") is False:
            set_visibility(owner=owner, template_id=template.pk, visibility="public")
    return _brief(template, version_of(owner, template))


def change_template(*, owner: User, body: Mapping[str, Any]) -> dict[str, Any]:
    """Give a template another version, and another name or description where they are named."""
    key, content = _key(body, "hash_id"), _content(owner, body)
    named = {"title": body.get("name"), "description": body.get("desc")}
    with joining():
        version = create_version(owner=owner, template_id=key, content=content)
        changes = {name: value for name, value in named.items() if isinstance(value, str) and value}
        template = update_template(owner=owner, template_id=key, **changes)
    return _brief(template, version)


def remove_template(*, owner: User, body: Mapping[str, Any]) -> None:
    """Delete a template by a hash of it, or by its number."""
    number = body.get("template_id")
    if number is not None and type(number) is not int:
        raise InvalidArgs("template_id: Send a number.")
    key = key_of(Kind.TEMPLATE, number) if number is not None else _key(body, "hash_id")
    delete_template(owner=owner, template_id=key)


def _one_version(user: User, hash_id: str) -> list[dict[str, Any]]:
    try:
        found = find_version(user, template_text(read_template_hash({"template_hash_id": hash_id})))
    except (NotFound, InvalidArgs, ValueError):
        return []
    return _rows([found])


def _rows(found: "list[tuple[LaunchTemplate, TemplateVersion]]") -> list[dict[str, Any]]:
    numbers = numbers_of(Kind.TEMPLATE, [template.pk for template, _ in found])
    owners = numbers_of(Kind.USER, {template.owner_id for template, _ in found if template.owner_id})
    return [
        {
            "id": numbers[template.pk],
            "creator_id": owners.get(template.owner_id) if template.owner_id else None,
            "hash_id": template_hash(template_key(template), version.short_hash),
            "name": template.title,
            "desc": template.description,
            "count_created": template.use_count,
            "created_at": template.created_at.timestamp(),
            "recent_create_date": template.updated_at.timestamp(),
            "private": template.visibility != "public",
            "recommended": template.is_official,
            **_settings(version),
        }
        for template, version in found
    ]


def _settings(version: "TemplateVersion") -> dict[str, Any]:
    content, launch = version.content, version.content["launch"]
    ports = [f"-p {row['port']}:{row['port']}{'/udp' if row['protocol'] == 'udp' else ''}" for row in content["ports"]]
    variables = [f"-e {name}={_quoted(value)}" for name, value in launch["env"].items()]
    return {
        "image": version.image.named_as or version.image.slug,
        "tag": "",
        "default_tag": "",
        "env": " ".join([*variables, *ports]),
        "onstart": launch["on_start"],
        "runtype": "args" if launch["entrypoint"] or launch["args"] else "ssh",
        "use_ssh": True,
        "ssh_direct": True,
        "jup_direct": version.image.has_jupyter,
        "use_jupyter_lab": version.image.has_jupyter,
        "recommended_disk_space": content["data_disk_gb"] or 0,
        "extra_filters": {},
        "readme": content["readme"],
        "readme_visible": True,
        "docker_login_repo": None,
    }


def _content(owner: User, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a version, with an image that may be added by its name now."""
    _refuse_filters(body.get("extra_filters"))
    tag, image = body.get("tag"), body.get("image")
    if not isinstance(image, str) or not image or not (tag is None or isinstance(tag, str)):
        raise InvalidArgs("image: Name an image such as pytorch/pytorch, with its tag.")
    wanted = read_create({**_plain(body), "image": f"{image}:{tag}" if tag else image})
    chosen = image_named(renter=owner, text=wanted.image)
    return {
        "image": chosen.slug,
        "launch": launch_of(wanted, chosen),
        "ports": port_rows(wanted.ports, wanted.udp_ports),
        "data_disk_gb": _disk(body.get("recommended_disk_space")),
        "readme": body.get("readme"),
    }


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body.get(name) for name in ("env", "onstart", "runtype")}


def _refuse_filters(filters: object) -> None:
    if filters and (not isinstance(filters, Mapping) or set(filters) - set(_ALWAYS)):
        raise InvalidArgs("extra_filters: Templates here keep no filters of Vast. Set what they need in the console.")


def _disk(value: object) -> int | None:
    if value is None or value == "":
        return None
    gb = read_number("disk_space", value)
    if not 0 <= gb <= GB_AT_MOST:
        raise InvalidArgs(f"disk_space: Send 0 to {GB_AT_MOST} GB.")
    return ceil(gb)


def _name(body: Mapping[str, Any]) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgs("name: Name the template.")
    return name


def _desc(body: Mapping[str, Any]) -> str:
    text = body.get("desc")
    return text if isinstance(text, str) else ""


def _key(body: Mapping[str, Any], name: str) -> UUID:
    hash_id = read_template_hash({"template_hash_id": body.get(name)})
    if not hash_id:
        raise InvalidArgs(f"{name}: Take it from `vastai search templates`.")
    return parse_public_id(PREFIX, template_text(hash_id).partition("@")[0])


def _brief(template: "LaunchTemplate", version: "TemplateVersion") -> dict[str, Any]:
    return {
        "id": number_of(Kind.TEMPLATE, template.pk),
        "name": template.title,
        "hash_id": template_hash(template_key(template), version.short_hash),
    }


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"
