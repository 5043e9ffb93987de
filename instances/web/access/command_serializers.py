"""Requests and responses of one-shot commands."""

import base64
from datetime import datetime
from typing import Annotated, Any, Final

from rest_framework import serializers

from common.encryption import CannotDecrypt
from common.ids import public_id
from common.messages.rendering import english
from common.resources import OneOf, resource
from instances.access.commands import CANCELLED, NOT_RUN, CommandOutput, output_of
from instances.constants import COMMAND_TIMEOUT_S, COMMAND_TIMEOUT_S_MAX, COMMANDS_KEPT
from instances.models import CommandRun
from instances.web.launch.serializers import TextSetting, UserSetting, VariablesSetting, WordsSetting
from instances.web.resources import INSTANCE_PREFIX
from storage.operations.messages import OutputUnreadable

COMMAND_PREFIX: Final = "exec"
COMMAND_STATES: Final = ("pending", "exited", "timed_out", "failed", "unknown", "cancelled")
ENCODINGS: Final = ("utf-8", "base64")
_LONGEST_CHARACTER: Final = 4  # bytes


class CommandWords(WordsSetting):
    """The command itself, which is not left out."""

    def __init__(self, about: str) -> None:
        super().__init__(about)
        self.required, self.allow_null = True, False


class CommandIn(serializers.Serializer[Any]):
    """What to run."""

    command = CommandWords("A list of arguments, run without a shell, or a line for /bin/sh -c")
    stdin = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, trim_whitespace=False, help_text="Standard input, at most 64 KiB"
    )
    stdin_encoding = serializers.ChoiceField(choices=ENCODINGS, default="utf-8", help_text="Use base64 for binary input")
    env = VariablesSetting("Environment variables in addition to those of the instance")
    user = UserSetting("User: name, uid or uid:gid; default: root")
    workdir = TextSetting("Working directory, an absolute path; default: the image's")
    timeout_seconds = serializers.IntegerField(
        min_value=1,
        max_value=COMMAND_TIMEOUT_S_MAX,
        default=COMMAND_TIMEOUT_S,
        help_text="The command and its child processes are killed after this time",
    )


@resource
class CommandFailure:
    """Why there is no exit code or output."""

    code: str
    detail: str


@resource
class CommandOut:
    """A command and, once it has ended, its result."""

    id: str
    instance_id: str
    state: Annotated[
        str,
        OneOf(COMMAND_STATES),
        "failed: it did not run; unknown: it may have run, and is not repeated; see `failure`",
    ]
    exit_code: Annotated[int | None, "128 plus the signal number if a signal ended it"]
    timed_out: bool
    stdout: Annotated[str | None, "At most the first 256 KiB; null until it has ended and once erased"]
    stdout_encoding: Annotated[str, OneOf(ENCODINGS), "base64 when it isn't UTF-8"]
    stdout_truncated: bool
    stderr: Annotated[str | None, "At most the first 256 KiB; null until it has ended and once erased"]
    stderr_encoding: Annotated[str, OneOf(ENCODINGS), "base64 when it isn't UTF-8"]
    stderr_truncated: bool
    duration_seconds: Annotated[float | None, "As measured by the host"]
    failure: CommandFailure | None
    timeout_seconds: int
    created_at: datetime
    ended_at: datetime | None
    expires_at: Annotated[datetime | None, "When the result is deleted"]


def command_resource(row: CommandRun) -> CommandOut:
    output, failure = _output_or_failure(row)
    stdout, stdout_encoding = _as_text(output.stdout if output else None, is_cut=row.stdout_cut)
    stderr, stderr_encoding = _as_text(output.stderr if output else None, is_cut=row.stderr_cut)
    return CommandOut(
        id=public_id(COMMAND_PREFIX, row.pk),
        instance_id=public_id(INSTANCE_PREFIX, row.instance_id),
        state=_state(row),
        exit_code=row.exit_code,
        timed_out=row.timed_out,
        stdout=stdout,
        stdout_encoding=stdout_encoding,
        stdout_truncated=row.stdout_cut,
        stderr=stderr,
        stderr_encoding=stderr_encoding,
        stderr_truncated=row.stderr_cut,
        duration_seconds=None if row.duration_ms is None else row.duration_ms / 1000,
        failure=failure,
        timeout_seconds=row.timeout_s,
        created_at=row.asked_at,
        ended_at=row.ended_at,
        expires_at=None if row.ended_at is None else row.ended_at + COMMANDS_KEPT,
    )


def _state(row: CommandRun) -> str:
    if row.ended_at is None:
        return "pending"
    if row.failure_code == CANCELLED:
        return "cancelled"
    if row.failure_code:
        return "failed" if row.failure_code in NOT_RUN else "unknown"
    return "timed_out" if row.timed_out else "exited"


def _output_or_failure(row: CommandRun) -> tuple[CommandOutput | None, CommandFailure | None]:
    try:
        return output_of(row), _failure(row)
    except CannotDecrypt:
        return None, CommandFailure(code=OutputUnreadable.code, detail=english(OutputUnreadable()))


def _failure(row: CommandRun) -> CommandFailure | None:
    if not row.failure_code or row.failure_code == CANCELLED:
        return None
    return CommandFailure(code=row.failure_code, detail=row.failure)


def _as_text(content: bytes | None, *, is_cut: bool) -> tuple[str | None, str]:
    """Return the text with its encoding; a character that the cut has split is left out."""
    if content is None:
        return None, "utf-8"
    try:
        return content.decode(), "utf-8"
    except UnicodeDecodeError as error:
        if is_cut and error.start > len(content) - _LONGEST_CHARACTER:
            return content[: error.start].decode(), "utf-8"
        return base64.b64encode(content).decode(), "base64"
