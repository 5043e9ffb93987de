"""Template contexts of access to an instance, and the forms that change it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import QueryDict
from django.utils.translation import gettext as _

from accounts.models import SshKey, User
from accounts.selectors import ssh_keys_of
from common.addresses import HIGHEST_PORT, in_url
from common.errors import DomainError, FieldError, InvalidInput, NotFound
from common.http.fields import parse_whole_number
from common.ids import parse_public_id, public_id
from instances.access.credentials import change_access, clear_password, set_password
from instances.access.logs import LogSearch, read_log
from instances.access.web_links import create_web_link
from instances.constants import EXTRA_PORTS_AT_MOST, JUPYTER_PORT, LOG_TAIL, LOG_TAIL_MOST, TENSORBOARD_PORT
from instances.core.endpoints import extra_ports, port_text, ports_pending, public_address, published_udp
from instances.core.selectors import instance_of
from instances.errors import WebLinksOff
from instances.models import Instance
from instances.states import InstanceState
from instances.web.access.serializers import access_resource

TAILS: Final = (100, 200, 500, LOG_TAIL_MOST)
_Q_MOST: Final = 100
_BETWEEN: Final = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class KeyRow:
    """A key of the account, and whether it can log in to this instance."""

    key: SshKey
    public: str
    lets_in: bool


def apply_access_form(renter: User, instance_id: UUID, form: QueryDict) -> str:
    """Carry out one of the page's forms, and return the new password if it set one."""
    match form.get("what", ""):
        case "password":
            return set_password(renter=renter, instance_id=instance_id)[1]
        case "no_password":
            clear_password(renter=renter, instance_id=instance_id)
        case what:
            change_access(renter=renter, instance_id=instance_id, **_change(what, form))
    return ""


def _change(what: str, form: QueryDict) -> dict[str, Any]:
    match what:
        case "keys":
            chosen = [parse_public_id("key", text) for text in form.getlist("ssh_key_ids")]
            return {"key_ids": None if form.get("every") == "1" else chosen}
        case "addresses":
            return {"networks": _split(form.get("allow_from", ""))}
        case "ports":
            return _ports(_split(form.get("ports", "")))
        case _:
            return {}


def _split(text: str) -> list[str]:
    return [word for word in _BETWEEN.split(text) if word]


def _ports(words: list[str]) -> dict[str, Any]:
    """Return the ports of words such as `8000` and `51820/udp`."""
    found: dict[str, Any] = {"ports": [], "udp_ports": []}
    for word in words:
        number, _slash, protocol = word.lower().partition("/")
        found["udp_ports" if protocol == "udp" else "ports"].append(
            _port(number if protocol in ("", "tcp", "udp") else word)
        )
    return found


def _port(text: str) -> int:
    port = parse_whole_number(text, most=HIGHEST_PORT)
    if not port:
        raise InvalidInput(
            "A port is a number.",
            errors=[FieldError("ports", "invalid", _("%(text)s isn't a valid port.") % {"text": text[:20]})],
        )
    return port


def access_context(renter: User, instance_id: UUID, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of the access page; `typed` is refused input to be corrected."""
    instance = instance_of(renter, instance_id)
    keys = ssh_keys_of(renter, None)
    extra, udp = extra_ports(instance), published_udp(instance)
    return {
        "instance": instance,
        "ways": access_resource(instance, opens=True),
        "keys": [KeyRow(key, public_id("key", key.pk), key.public_key in instance.ssh_keys) for key in keys],
        "extra": [(inside, outside, inside in udp) for inside, outside in extra],
        "pending": ports_pending(instance),
        "ports_most": EXTRA_PORTS_AT_MOST,
        "ports_text": typed.get("ports", ", ".join(port_text(instance, inside) for inside, _ in extra)),
        "allow_text": typed.get("allow_from", "\n".join(instance.allow_from)),
        "web_links": bool(settings.RELAY_WEB_HOST),
        "is_running": instance.state == InstanceState.RUNNING,
        "is_ending": instance.state in (InstanceState.RELEASING, InstanceState.GONE),
    }


def log_context(renter: User, instance_id: UUID, params: QueryDict) -> dict[str, Any]:
    """Return the context of the log as far as known, or the error that keeps it from being read."""
    instance = instance_of(renter, instance_id)
    wanted = str(params.get("tail", ""))
    tail = int(wanted) if wanted in {str(size) for size in TAILS} else LOG_TAIL
    source = "on_start" if params.get("source") == "on_start" else ""
    search = LogSearch(tail=tail, q=str(params.get("q", "")).replace("\0", "")[:_Q_MOST], source=source)
    context: dict[str, Any] = {"instance": instance, "search": search, "tails": TAILS}
    try:
        context["log"] = read_log(renter=renter, instance_id=instance_id, search=search)
    except DomainError as error:
        context["refused"] = error
    return context


def parse_port(text: str) -> int:
    """Parse a port from a form, or raise InvalidInput."""
    return _port(text.strip())


def web_address(renter: User, instance_id: UUID, port: int) -> str:
    """Return a link through the relay, or to the host itself where the market has no web host names."""
    try:
        return create_web_link(renter=renter, instance_id=instance_id, port=port).url
    except WebLinksOff:
        return _direct(instance_of(renter, instance_id), port)


def _direct(instance: Instance, port: int) -> str:
    access, address = access_resource(instance, opens=True), public_address(instance)
    known = {JUPYTER_PORT: access.jupyter_url, TENSORBOARD_PORT: access.tensorboard_url}
    if port not in dict(instance.ports) or not address:
        raise NotFound("The instance opens no such port.")
    return known.get(port) or f"http://{in_url(address)}:{dict(instance.ports)[port]}/"
