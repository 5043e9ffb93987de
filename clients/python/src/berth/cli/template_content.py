"""The content of a template's version: from options, from an instance, and merged with the present one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import to_builtins

from berth.cli import launch_options
from berth.cli.declared.kinds import TEMPLATE_CONTENT
from berth.cli.framework import session
from berth.cli.ports import ContainerPort, PortType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from berth import models

_INPUT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::([^=]*))?(?:=(.*))?", re.DOTALL)
_KINDS: Final = frozenset({"text", "number", "secret"})
_PLAIN: Final = ("filter", "min_vram_gb", "min_cuda", "min_driver", "data_disk_gb", "image")


class InputType(click.ParamType[dict[str, Any]]):
    """What renters enter: NAME, NAME=DEFAULT, NAME:number, NAME:secret, or NAME:small|large=small for a choice."""

    name = "input"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        found = _INPUT.fullmatch(str(value))
        kind = (found[2] or "text") if found else ""
        choices = kind.split("|") if "|" in kind else []
        if found is None or (kind not in _KINDS and not choices):
            self.fail(f"{value!r} isn't like NAME, NAME=DEFAULT, NAME:secret or NAME:small|large=small", param, ctx)
        required = found[3] is None
        made = {"name": found[1], "kind": "choice" if choices else kind, "default": found[3] or "", "required": required}
        return {**made, **({"choices": choices} if choices else {})}


def options(*, of_existing: bool = False) -> "list[Callable[[Any], Any]]":
    """Return the options of a template's content, except its image."""
    return [
        click.option(
            "--input",
            "inputs",
            multiple=True,
            type=InputType(),
            help="Input that renters fill in: NAME, NAME=DEFAULT, NAME:number, NAME:secret, NAME:small|large=small",
        ),
        click.option("--port", "ports", multiple=True, type=PortType(), help="Container port to publish: 8000, 51820/udp"),
        click.option("--filter", help="Search query for suitable offers"),
        click.option("--min-vram", "min_vram_gb", type=click.IntRange(1), help="Minimum memory per GPU in GB"),
        click.option("--min-cuda", help="Minimum CUDA version, such as 12.4"),
        click.option("--min-driver", help="Minimum driver version, such as 550.54"),
        click.option("--disk", "data_disk_gb", type=click.IntRange(0), help="Data disk in GB"),
        click.option("--readme", type=click.Path(exists=True, dir_okay=False), help="Markdown file to show with it"),
        *launch_options.options(secret_names_only=True, of_existing=of_existing),
    ]


def given(ctx: click.Context, values: "Mapping[str, Any]") -> dict[str, Any]:
    """Return the fields that the options stand for; what wasn't given isn't there."""
    content: dict[str, Any] = {name: values[name] for name in _PLAIN if values.get(name) is not None}
    if values["readme"]:
        content["readme"] = Path(values["readme"]).read_text(encoding="utf-8")
    if values["inputs"]:
        content["inputs"] = list(values["inputs"])
    if values["ports"]:
        content["ports"] = [_port(each) for each in values["ports"]]
    launch = launch_options.template_settings(ctx, dict(values))
    return {**content, "launch": launch} if launch else content


def _port(port: ContainerPort) -> dict[str, Any]:
    return {"port": port.number, "protocol": "udp" if port.udp else "http"}


def from_instance(instance: "models.InstanceOut") -> dict[str, Any]:
    """Return a content that starts what an instance runs; of its secrets the names."""
    access = session().client.instances.access(instance.id)
    extra = [_port(ContainerPort(each.container, each.udp)) for each in access.ports if each.extra]
    launch = to_builtins(instance.launch) if instance.launch else {}
    return {"image": instance.image, "launch": launch, "ports": extra, "data_disk_gb": instance.data_disk_gb}


def present(version: "models.VersionOut") -> dict[str, Any]:
    """Return the content of a version as a request has it."""
    shown = to_builtins(version)
    return {name: shown[name] for name in TEMPLATE_CONTENT}


def merged(content: "Mapping[str, Any]", changes: "Mapping[str, Any]", removed: "tuple[str, ...]" = ()) -> dict[str, Any]:
    """Return a content with changes: variables, secrets and inputs are merged by name, anything else is replaced.

    Raises:
        UsageError: what is to be removed isn't there.
    """
    before, after = content.get("launch", {}), changes.get("launch", {})
    env = {**before.get("env", {}), **after.get("env", {})}
    secrets = [*dict.fromkeys([*before.get("secrets", []), *after.get("secrets", [])])]
    inputs = {each["name"]: each for each in [*content.get("inputs", []), *changes.get("inputs", [])]}
    for name in removed:
        if name not in env and name not in secrets and name not in inputs:
            raise click.UsageError(f"--unset {name}: it has no such variable, secret or input.")
    launch = {
        **before,
        **after,
        "env": {name: value for name, value in env.items() if name not in removed},
        "secrets": [name for name in secrets if name not in removed],
    }
    kept = [each for name, each in inputs.items() if name not in removed]
    return {**content, **changes, "launch": launch, "inputs": kept}
