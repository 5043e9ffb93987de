"""Launch templates as an order uses them; the app above stores them and is found by a setting."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from accounts.models import User
from common.errors import FieldError
from instances.launch.settings import EMPTY, LaunchSettings, merge, refusal, validate

_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_TEXT_MOST: Final = 2000
_PINNED: Final = ("image", "reference")  # which quotes of earlier versions of the market lack
_AGREED: Final = ("id", "slug", "title", "version", "min_vram_gb", "min_cuda", "min_driver")


@dataclass(frozen=True)
class TemplateInput:
    """A value that a renter enters; it becomes the environment variable `name`, or a secret."""

    name: str
    label: str
    kind: str
    default: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class OrderTemplate:
    """One version of a template: `settings` hold no secrets, `min_…` are what a host must have.

    `reference` is what `image` stood for when the version was made.
    """

    version_id: UUID
    id: str
    slug: str
    title: str
    version: str
    image: str = ""
    reference: str = ""
    settings: LaunchSettings = EMPTY
    inputs: tuple[TemplateInput, ...] = ()
    ports: tuple[int, ...] = ()
    udp_ports: tuple[int, ...] = ()
    data_disk_gb: int | None = None
    min_vram_gb: int | None = None
    min_cuda: str = ""
    min_driver: str = ""
    official: bool = False

    @property
    def shown_title(self) -> str:
        """Return the title in the reader's language."""
        return self.localized(self.title)

    def localized(self, text: str) -> str:
        """Return a text of this template in the reader's language: only official ones are translated."""
        return _(text) if self.official and text else text

    @property
    def agreed(self) -> dict[str, Any]:
        """Return what a quote keeps of it."""
        ports = {"ports": list(self.ports), "udp_ports": list(self.udp_ports)}
        return ports | {name: getattr(self, name) for name in (*_AGREED, *_PINNED)}


def agreed_template(version_id: UUID | None, agreed: Mapping[str, Any] | None) -> OrderTemplate | None:
    """Return what a quote kept of a template, for another quote like it; its settings are the quote's own."""
    if version_id is None or agreed is None:
        return None
    ports, udp_ports = tuple(agreed["ports"]), tuple(agreed.get("udp_ports", ()))
    pinned = {name: agreed.get(name, "") for name in _PINNED}
    return OrderTemplate(version_id, **{name: agreed[name] for name in _AGREED}, **pinned, ports=ports, udp_ports=udp_ports)


def find_template(user: User, text: str) -> OrderTemplate:
    """Return the version that `text` names: an id or a slug, each alone or as `…@version`.

    Raises:
        NotFound: there is none that the user may see.
    """
    found: OrderTemplate = import_string(settings.LAUNCH_TEMPLATE_FINDER)(user, text)
    return found


def settings_with(template: OrderTemplate, values: Mapping[str, Any], override: LaunchSettings) -> LaunchSettings:
    """Return the template's settings with the inputs in them, and with those of the request over both.

    Raises InvalidInput, which names each wrong or missing input.
    """
    env, secrets, wrong = _inputs(template, values, override)
    if wrong:
        raise refusal(wrong)
    return merge(merge(template.settings, validate({"env": env, "secrets": secrets})), override)


def _inputs(
    template: OrderTemplate, values: Mapping[str, Any], override: LaunchSettings
) -> tuple[dict[str, str], dict[str, str], list[FieldError]]:
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    known = {each.name for each in template.inputs}
    wrong = [
        FieldError(f"inputs.{str(name)[:80]}", "unknown", _("The template doesn't have this input."))
        for name in values
        if name not in known
    ]
    for each in template.inputs:
        value = values.get(each.name)
        text = each.default if value is None else str(value) if isinstance(value, (int, float)) else value
        problem = input_problem(each, text)
        if each.name in override.env or each.name in override.secrets:
            continue
        if problem:
            wrong.append(FieldError(f"inputs.{each.name}", *problem))
        elif text:
            (secrets if each.kind == "secret" else env)[each.name] = text
    return env, secrets, wrong


def input_problem(one: TemplateInput, text: object) -> tuple[str, str] | None:
    """Return the code and the words of what is wrong with the value of an input, or None."""
    if not isinstance(text, str) or len(text) > _TEXT_MOST:
        return "invalid", _("Enter up to %(most)s characters.") % {"most": _TEXT_MOST}
    if not text:
        return ("required", _("%(name)s is required.") % {"name": one.label or one.name}) if one.required else None
    if one.kind == "number" and not _NUMBER.fullmatch(text):
        return "invalid", _("Enter a number.")
    if one.kind == "choice" and text not in one.choices:
        return "invalid", _("Choose one of: %(options)s.") % {"options": ", ".join(one.choices)}
    return None
