"""Templates as orders use them; the setting LAUNCH_TEMPLATE_FINDER names `template_for_order`."""

from collections.abc import Mapping
from typing import Any

from accounts.models import User
from instances.launch.settings import LaunchSettings, validate
from instances.launch.templates import OrderTemplate
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import PortProtocol
from workloads.templates.inputs import as_input
from workloads.templates.selectors import find_version, template_key


def template_for_order(user: User, text: str) -> OrderTemplate:
    """Return the version that `text` names, as `id`, `slug` or share link, each alone or with `@version`.

    Raises:
        NotFound: there is none that the user may see.
    """
    return order_template(*find_version(user, text))


def order_template(template: LaunchTemplate, version: TemplateVersion) -> OrderTemplate:
    content = version.content
    return OrderTemplate(
        version_id=version.pk,
        id=template_key(template),
        slug=template.slug,
        title=template.title,
        official=template.is_official,
        version=version.short_hash,
        image=content["image"],
        reference=content["reference"],
        settings=settings_in(content),
        inputs=tuple(as_input(row) for row in content["inputs"]),
        ports=tuple(row["port"] for row in content["ports"]),
        udp_ports=tuple(row["port"] for row in content["ports"] if row["protocol"] == PortProtocol.UDP),
        **{name: content[name] for name in ("data_disk_gb", "min_vram_gb", "min_cuda", "min_driver")},
    )


def settings_in(content: Mapping[str, Any]) -> LaunchSettings:
    """Return a content's launch settings, checked again."""
    return validate(content["launch"])
