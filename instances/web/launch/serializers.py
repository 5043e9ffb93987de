"""Requests and responses about what runs in an instance."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.resources import OneOf, resource
from instances.launch.settings import SETTING_NAMES
from instances.models import Instance, Launch, LaunchStatus

_NAMED_TEXTS: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_NAMED_SECRETS: Final = {"type": "object", "additionalProperties": {"type": "string", "nullable": True}}
_WORDS: Final = {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}
_CHECK: Final = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["http", "tcp"]},
        "port": {"type": "integer", "minimum": 1, "maximum": 65_535},
        "path": {"type": "string"},
        "grace_seconds": {"type": "integer", "minimum": 0, "maximum": 3600},
    },
    "required": ["port"],
}


class Setting(serializers.JSONField):
    """Launch setting, which `instances.launch.settings` checks; left out or null, it is not given."""

    def __init__(self, about: str) -> None:
        super().__init__(required=False, allow_null=True, help_text=about)


@extend_schema_field(_NAMED_TEXTS)
class VariablesSetting(Setting):
    pass


@extend_schema_field(_NAMED_SECRETS)
class SecretsSetting(Setting):
    pass


@extend_schema_field(_WORDS)
class WordsSetting(Setting):
    pass


@extend_schema_field({"type": "string"})
class TextSetting(Setting):
    pass


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "integer"}]})
class UserSetting(Setting):
    pass


@extend_schema_field({"type": "integer", "minimum": 1, "maximum": 65_536})
class SizeSetting(Setting):
    pass


@extend_schema_field(_CHECK)
class ReadinessSetting(Setting):
    pass


class LaunchFields(serializers.Serializer[Any]):
    """What runs in the instance."""

    env = VariablesSetting("Environment variables by name")
    secrets = SecretsSetting("Secret environment variables by name; only the names are ever returned")
    command = WordsSetting("Replaces the image's command: a list of arguments, or a line for /bin/sh -c")
    args = WordsSetting("Arguments appended to the command")
    entrypoint = WordsSetting("Replaces the image's entrypoint; with an official image, it precedes the command")
    workdir = TextSetting("Working directory of the command; an absolute path")
    user = UserSetting("User for the command and the start script: name, uid or uid:gid")
    shm_mb = SizeSetting("Size of /dev/shm in MB, part of the memory; default: half of it")
    on_start = TextSetting("Script that runs once after each start; its log and exit code are available")
    readiness = ReadinessSetting("HTTP (200: ready, 204: starting) or TCP check of the program; never changes billing")


class LaunchPatch(LaunchFields):
    """Launch settings to change; omitted fields stay unchanged. A secret with null keeps its value."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not given_settings(attrs):
            raise serializers.ValidationError(f"Say what to change: {', '.join(SETTING_NAMES)}.")
        return attrs


class RestartIn(LaunchFields):
    """Launch settings to change with the restart; omitted fields stay unchanged. A secret with null keeps its value."""


def given_settings(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the launch settings in a validated request."""
    return {name: wanted[name] for name in SETTING_NAMES if wanted.get(name) is not None}


def without_settings(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rest of a validated request."""
    return {name: value for name, value in wanted.items() if name not in SETTING_NAMES}


class Variables(serializers.DictField):
    """Environment variables by name."""

    child = serializers.CharField()


@resource
class ReadinessOut:
    """Check of the program."""

    type: Annotated[str, OneOf(["http", "tcp"])]
    port: int
    path: str
    grace_seconds: int


@resource
class LaunchOut:
    """What runs in the instance; an empty value uses the image's default."""

    env: Annotated[dict[str, str], Variables]
    secrets: Annotated[list[str], "Names only"]
    command: list[str]
    args: list[str]
    entrypoint: list[str]
    workdir: str
    user: str
    shm_mb: int | None
    on_start: str
    readiness: ReadinessOut | None


@resource
class LaunchStatusOut:
    """Status of the current run, as reported by the host."""

    on_start: Annotated[str | None, OneOf(["running", "ended", "lost"]), "null: no start script, or it has not started yet"]
    exit_code: Annotated[int | None, "Of the start script"]
    ready: Annotated[str | None, OneOf(["ready", "starting", "not_ready"]), "null: no check, or no result yet"]
    ready_at: Annotated[datetime | None, "When it was first ready"]


def launch_resource(launch: Launch | None) -> LaunchOut | None:
    """Return stored settings without the values of secrets."""
    if launch is None:
        return None
    return LaunchOut(
        env=launch.env,
        secrets=launch.secret_names,
        command=launch.command,
        args=launch.args,
        entrypoint=launch.entrypoint,
        workdir=launch.workdir,
        user=launch.user,
        shm_mb=launch.shm_mb,
        on_start=launch.on_start,
        readiness=None if launch.readiness is None else ReadinessOut(**launch.readiness),
    )


def launch_status_resource(instance: Instance) -> LaunchStatusOut | None:
    """Return what was reported of the present run; the status must be loaded."""
    status: LaunchStatus | None = getattr(instance, "launch_status", None) if instance.launch_id else None
    if status is None or status.generation != instance.run_generation:
        return None
    return LaunchStatusOut(
        on_start=status.on_start or None,
        exit_code=status.exit_code,
        ready=status.ready or None,
        ready_at=status.ready_at,
    )
