"""What an instance is to run, in the form in which the API shows what it runs, so that both can be compared."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from berth.cli.declared.files import Document, resolve
from berth.cli.declared.kinds import LAUNCH_FIELDS
from berth.cli.declared.market import Market
from berth.cli.declared.nodes import Variable
from berth.cli.declared.plans import Change
from berth.cli.framework import Refused

if TYPE_CHECKING:
    from berth import models

_NOTHING: dict[str, Any] = {
    "env": {},
    "secrets": [],
    "command": [],
    "args": [],
    "entrypoint": [],
    "workdir": "",
    "user": "",
    "shm_mb": None,
    "on_start": "",
    "readiness": None,
}


@dataclass(frozen=True)
class Target:
    """What is to run: `fields` as the API shows them, and what the template gives beside them, if there is one."""

    fields: Mapping[str, Any]
    image: str | None = None


def values_of(document: Document) -> dict[str, Any]:
    """Return the launch settings and inputs of a document as an order has them, with values from the environment.

    Raises:
        Refused: a variable isn't set.
    """
    return {name: resolve(document.spec[name]) for name in (*LAUNCH_FIELDS, "inputs") if name in document.spec}


def planned_values(document: Document, secrets: Collection[str]) -> dict[str, Any]:
    """Return launch settings and inputs for the market to check; a secret that isn't set here is a placeholder.

    `secrets` are the inputs that are secret.

    Raises:
        Refused: another variable isn't set.
    """
    spec = document.spec
    return {name: _without_secrets(name, spec[name], secrets) for name in (*LAUNCH_FIELDS, "inputs") if name in spec}


def target_of(market: Market, document: Document) -> Target:
    """Return what an instance that exists is to run."""
    spec = document.spec
    if "launch_template" not in spec:
        fields: dict[str, Any] = {name: resolve(spec[name]) for name in LAUNCH_FIELDS if name in spec and name != "secrets"}
        return Target(fields | ({"secrets": sorted(spec["secrets"])} if "secrets" in spec else {}))
    found = market.template_of(spec["launch_template"])
    if found is None:
        raise Refused(f"{document.place}: there is no template {spec['launch_template']!r} yet.", 4)
    check_inputs(document, secret_inputs(found.version.inputs))
    order = planned_values(document, secret_inputs(found.version.inputs))
    version = spec["launch_template"].partition("@")[2]
    rendered = market.client.launch_templates.render(found.id, **order, **({"version": version} if version else {}))
    from msgspec import to_builtins

    return Target(to_builtins(rendered.launch), rendered.image)


def secret_inputs(inputs: "list[models.InputOut]") -> set[str]:
    return {each.name for each in inputs if each.kind == "secret"}


def declared_secret_inputs(template: Document) -> set[str]:
    """Return the secret inputs of a template that the files declare: a secret of its settings becomes one as well."""
    inputs = {each["name"] for each in template.spec.get("inputs", []) if each.get("kind") == "secret"}
    return inputs | set(template.spec.get("launch", {}).get("secrets", []))


def check_inputs(document: Document, secrets: Collection[str]) -> None:
    """Refuse a secret that stands in the file as an input's value.

    Raises:
        Refused: it does.
    """
    for name, value in document.spec.get("inputs", {}).items():
        if name in secrets and not isinstance(value, Variable):
            raise Refused(f"{document.place}: spec.inputs.{name} is a secret: write ${{env:NAME}}, not its value.", 2)


def changes_of(document: Document, target: Target, live: "models.LaunchOut | None", *, renew_secrets: bool) -> list[Change]:
    """Return the settings that differ; of secrets the names are compared, since nobody can read the values.

    Of a variable that the file takes from the environment, the reference is shown and not what it stands for.
    """
    references = {
        name: value
        for part in ("inputs", "env")
        for name, value in document.spec.get(part, {}).items()
        if isinstance(value, Variable)
    }
    from msgspec import to_builtins

    shown = to_builtins(live) if live is not None else _NOTHING
    found = []
    for name, value in target.fields.items():
        if name == "secrets" and renew_secrets and value:
            found.append(Change("secrets", sorted(shown[name]), [f"{each} (sent again)" for each in sorted(value)]))
        elif name == "shm_mb" and value is None:
            continue  # a request can't take it back: null means that it stays
        elif name == "env":
            found += _of_variables(shown[name], value, references)
        elif (sorted(value) if name == "secrets" else value) != (sorted(shown[name]) if name == "secrets" else shown[name]):
            found.append(Change(name, shown[name], value))
    return found


def request_for(
    document: Document, target: Target, changes: list[Change], live: "models.LaunchOut | None"
) -> dict[str, Any]:
    """Return the settings to send, so that the target is what runs: those that differ, each of them whole.

    Raises:
        Refused: a secret is new, and the file has no value for it.
    """
    names = {each.field.partition(".")[0] for each in changes}
    request = {name: target.fields[name] for name in names if name != "secrets"}
    if "readiness" in request:
        request["readiness"] = request["readiness"] or {}
    if "secrets" in names:
        again = any("(sent again)" in str(each.after) for each in changes if each.field == "secrets")
        kept = set() if again or live is None else set(live.secrets)
        values = {**document.spec.get("inputs", {}), **document.spec.get("secrets", {})}
        request["secrets"] = {
            name: None if name in kept else _value(document, name, values) for name in target.fields["secrets"]
        }
    return request


def _value(document: Document, name: str, values: Mapping[str, Any]) -> str:
    if name not in values:
        raise Refused(f"{document.place}: there is no value for the secret {name}: name it in secrets or inputs.", 2)
    return str(resolve(values[name]))


def _without_secrets(field: str, value: Any, secrets: Collection[str]) -> Any:
    """Return a value for the market to merge, in which a secret that isn't set here is a placeholder: names count.

    Raises:
        Refused: another variable isn't set.
    """
    if not isinstance(value, dict):
        return resolve(value)
    return {
        name: _placed(each) if field == "secrets" or (field == "inputs" and name in secrets) else resolve(each)
        for name, each in value.items()
    }


def _placed(value: Any) -> Any:
    try:
        return resolve(value)
    except Refused:
        return "-"


def _of_variables(before: Mapping[str, str], after: Mapping[str, str], references: Mapping[str, Variable]) -> list[Change]:
    names = [each for each in sorted(before.keys() | after.keys()) if before.get(each) != after.get(each)]
    return [
        Change(f"env.{each}", "(another value)" if each in before else None, references[each])
        if each in references
        else Change(f"env.{each}", before.get(each), after.get(each))
        for each in names
    ]
