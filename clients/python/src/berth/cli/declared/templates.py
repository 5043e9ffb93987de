"""Launch templates: a version is compared by the hash of its content, which the market itself computes."""

from typing import TYPE_CHECKING, Any

from berth.cli.declared.files import Document
from berth.cli.declared.kinds import TEMPLATE_CONTENT
from berth.cli.declared.market import Market
from berth.cli.declared.plans import Change, Entry, Step, plain
from berth.models import LaunchOut

if TYPE_CHECKING:
    from berth import models

_SHOWN = ("title", "icon", "description", "category")
_VISIBLE = ("visibility", "team")


def plan_template(market: Market, document: Document) -> Entry:
    """Return what makes the person's own template with this slug as the file has it."""
    live = market.template(document.name)
    return _new(market, document) if live is None else _changed(market, document, live)


def _new(market: Market, document: Document) -> Entry:
    templates = market.client.launch_templates
    order = {"title": document.name, **document.given(_SHOWN), **document.given(TEMPLATE_CONTENT), "slug": document.name}
    templates.create(**order, dry_run=True)
    visible = document.given(_VISIBLE)

    def create() -> None:
        made = templates.create(**order)
        if visible:
            templates.update(made.id, **visible)

    return Entry(document, "create", steps=[Step("create template", create)])


def _changed(market: Market, document: Document, live: "models.TemplateOut") -> Entry:
    templates, changes, steps = market.client.launch_templates, [], []
    content = _content(document, live.version)
    wanted = templates.version_create(live.id, **content, dry_run=True)
    if wanted.content_hash != live.version.content_hash:
        changes += _differences(live.version, wanted)
        steps.append(Step("new version", lambda: templates.version_create(live.id, **content)))
    described = {
        name: value for name, value in document.given((*_SHOWN, *_VISIBLE)).items() if value != (getattr(live, name) or "")
    }
    if described:
        changes += [Change(name, getattr(live, name), value) for name, value in described.items()]
        steps.append(Step("update", lambda: templates.update(live.id, **described)))
    return Entry(document, "change" if steps else "none", live.id, changes, steps)


def _content(document: Document, live: "models.VersionOut") -> dict[str, Any]:
    """Return the whole content of a version: what the file leaves out is that of the present one."""
    from msgspec import to_builtins

    shown, declared = to_builtins(live), document.given(TEMPLATE_CONTENT)
    content = {**{name: shown[name] for name in TEMPLATE_CONTENT}, **declared}
    content["launch"] = {**shown["launch"], **declared.get("launch", {})}
    secrets = declared.get("launch", {}).get("secrets")
    if secrets is not None and "inputs" not in declared:
        # The market keeps secrets as inputs. Here they are named, so one that isn't any more is removed, not left out.
        content["inputs"] = [each for each in shown["inputs"] if each["kind"] != "secret" or each["name"] in secrets]
    return content


def _differences(live: "models.VersionOut", wanted: "models.VersionOut") -> list[Change]:
    from msgspec import to_builtins

    before, after = to_builtins(live), to_builtins(wanted)
    found = []
    for name in TEMPLATE_CONTENT:
        if name == "launch":
            found += [
                Change(f"launch.{part}", before[name][part], after[name][part])
                for part in LaunchOut.__struct_fields__
                if before[name][part] != after[name][part]
            ]
        elif before[name] != after[name]:
            found.append(Change(name, plain(before[name]), plain(after[name])))
    return found
