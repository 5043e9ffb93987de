"""One-shot commands in running instances: requested of the host, run there at most once, and their results kept a while."""

import base64
import binascii
import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.encryption import CannotDecrypt, decrypt, encrypt
from common.errors import InvalidInput, TooOften
from common.messages.message import Message, Name
from common.messages.rendering import english
from common.printable import cut_printable
from instances.constants import (
    COMMAND_BYTES,
    COMMAND_OUTPUTS_KEPT,
    COMMAND_PATIENCE,
    COMMAND_STDIN_BYTES,
    COMMAND_TIMEOUT_S,
    COMMANDS_AT_ONCE,
    COMMANDS_KEPT,
    COMMANDS_PER_MINUTE,
)
from instances.core.access_selectors import (
    command_of,
    command_outputs_beyond,
    commands_ended_before,
    commands_open,
    commands_since,
)
from instances.core.endpoints import is_reachable
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, touch_renter
from instances.errors import HostSilent, NotRunning, TooManyCommands
from instances.launch.fields import (
    ENVIRONMENT_BYTES,
    WORDS_BYTES,
    Problems,
    read_arguments,
    read_user,
    read_variables,
    read_workdir,
)
from instances.models import CommandRun, Instance
from instances.states import InstanceState
from storage.operations.messages import NoAnswer, OutputUnreadable
from storage.operations.outcomes import outcome_of
from storage.operations.services import cancel_operation, delete_operation, fail_operation, request_operation
from storage.states import OperationState

KIND: Final = "run_command"
CANCELLED: Final = "cancelled"
_MINUTE: Final = timedelta(minutes=1)
_PROGRAM_CHARS: Final = 60
# The market's codes where those of operations would say something else; all others are kept as they are.
_CODES: Final = {"unknown_operation": "agent_too_old", "out_of_time": "host_silent", "operation_failed": "command_lost"}
# With these the command was surely not run. With every other code, of a later agent too, it is not known whether or how
# it ended; it is not run again.
NOT_RUN: Final = frozenset({"command_refused", "not_running", "too_many_commands", "simulated_host", "agent_too_old"})


@dataclass(frozen=True)
class Command:
    """What to run; `repr` returns none of it, since words, variables and input may be secret."""

    words: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: bytes = field(default=b"", repr=False)
    user: str = ""
    workdir: str = ""
    timeout_s: int = COMMAND_TIMEOUT_S

    @property
    def program(self) -> str:
        """Return the name of the program for the instance's events."""
        return cut_printable(posixpath.basename(self.words[0]) or self.words[0], _PROGRAM_CHARS)


@dataclass(frozen=True)
class CommandOutput:
    """What a command wrote, as far as it was kept."""

    stdout: bytes
    stderr: bytes


def read_command(wanted: Mapping[str, Any]) -> Command:
    """Check a request's fields and return the command, or raise InvalidInput with all that is wrong."""
    problems = Problems()
    words = read_arguments("command", wanted.get("command"), problems)
    env = read_variables("env", wanted.get("env"), problems)
    stdin = _read_stdin(wanted.get("stdin") or "", wanted.get("stdin_encoding"), problems)
    user, workdir = read_user(wanted.get("user"), problems), read_workdir(wanted.get("workdir"), problems)
    if not words and not problems.found:
        problems.add("command", _("Specify the program to start."), "required")
    if sum(len(word.encode()) for word in words) > WORDS_BYTES:
        problems.add("command", _("Use at most %(most)s KiB.") % {"most": WORDS_BYTES // 1024}, "max_length")
    if sum(len(name.encode()) + len(text.encode()) for name, text in env.items()) > ENVIRONMENT_BYTES:
        problems.add("env", _("Use at most %(most)s KiB.") % {"most": ENVIRONMENT_BYTES // 1024}, "max_length")
    if not problems.found and len(json.dumps([words, env, base64.b64encode(stdin).decode()])) > COMMAND_BYTES:
        detail = _("Use at most %(most)s KiB for command, env and stdin combined.") % {"most": COMMAND_BYTES // 1024}
        problems.add("command", detail, "max_length")
    if problems.found:
        raise InvalidInput("The command is not valid.", errors=problems.found)
    return Command(words, env, stdin, user, workdir, wanted.get("timeout_seconds") or COMMAND_TIMEOUT_S)


def _read_stdin(text: str, encoding: str | None, problems: Problems) -> bytes:
    try:
        data = base64.b64decode(text, validate=True) if encoding == "base64" else text.encode()
    except (binascii.Error, ValueError):
        problems.add("stdin", _("This isn't base64."))
        return b""
    if len(data) > COMMAND_STDIN_BYTES:
        most = {"most": COMMAND_STDIN_BYTES // 1024}
        problems.add("stdin", _("Send at most %(most)s KiB, or copy a file first.") % most, "max_length")
    return data


def start_command(*, renter: User, instance_id: UUID, command: Command) -> CommandRun:
    """Request a command of the instance's host.

    Locks the instance. Raises NotFound, NotRunning, HostSilent, TooManyCommands or TooOften.
    """
    with use_case():
        Instance.objects.select_for_update(no_key=True).only("pk").filter(pk=instance_id, renter_id=renter.pk).first()
        instance, now = instance_of(renter, instance_id), clock.now()
        _check_may_run(instance, now)
        row = CommandRun(instance=instance, timeout_s=command.timeout_s, asked_at=now)
        row.operation = request_operation(
            host_id=instance.host_id,
            owner_id=renter.pk,
            kind=KIND,
            subject=row.pk,
            args={"instance": instance.pk.hex, "timeout_s": str(command.timeout_s)},
            secrets={
                "command": json.dumps(command.words),
                "env": json.dumps(dict(command.env)),
                "stdin": base64.b64encode(command.stdin).decode(),
                "user": command.user,
                "workdir": command.workdir,
            },
            within=timedelta(seconds=command.timeout_s) + COMMAND_PATIENCE,
        ).pk
        row.save(force_insert=True)
        record_event(instance, kind="command_run", actor=RENTER, detail=Name(name=command.program))
    return row


def _check_may_run(instance: Instance, now: datetime) -> None:
    if instance.state != InstanceState.RUNNING:
        raise NotRunning("Commands require a running instance. Start it first.")
    if not is_reachable(instance, now):
        raise HostSilent("The command did not run. Try again once the host is responding.")
    if commands_open(instance.pk) >= COMMANDS_AT_ONCE:
        raise TooManyCommands(f"An instance runs at most {COMMANDS_AT_ONCE} commands at a time. Wait for one to finish.")
    if commands_since(instance.renter_id, now - _MINUTE) >= COMMANDS_PER_MINUTE:
        raise TooOften(f"At most {COMMANDS_PER_MINUTE} commands a minute.", wait=_MINUTE.total_seconds())


def command_run(*, renter: User, instance_id: UUID, command_id: UUID) -> CommandRun:
    """Return a command of the renter's instance, or raise NotFound."""
    return command_of(instance_of(renter, instance_id).pk, command_id)


def cancel_command(*, renter: User, instance_id: UUID, command_id: UUID) -> CommandRun:
    """End a command that still runs, and erase its output; repeating it changes nothing. Raises NotFound."""
    with use_case():
        instance = instance_of(renter, instance_id)
        command_of(instance.pk, command_id)
        row = CommandRun.objects.select_for_update(no_key=True).get(pk=command_id)
        if row.operation is not None:
            cancel_operation(operation_id=row.operation, reason=CANCELLED)
            row.operation, row.ended_at, row.failure_code = None, clock.now(), CANCELLED
            record_event(instance, kind="command_cancelled", actor=RENTER)
        row.sealed_output = ""
        row.save()
    return row


def store_result(operation: Any) -> None:
    """Store the result of a command, and delete the operation, whose arguments and outcome are the renter's alone."""
    row = CommandRun.objects.select_for_update(no_key=True).filter(operation=operation.pk).first()
    if row is not None:
        row.operation, row.ended_at = None, clock.now()
        try:
            _store_end(row, operation)
        except CannotDecrypt:
            _store_failure(row, OutputUnreadable.code, OutputUnreadable())
        row.save()
        command_outputs_beyond(row.instance_id, COMMAND_OUTPUTS_KEPT).update(sealed_output="")
        touch_renter(row.instance)  # whoever was woken by the operation's end came too early
    delete_operation(operation_id=operation.pk)


def _store_end(row: CommandRun, operation: Any) -> None:
    outcome = outcome_of(operation) if operation.state == OperationState.DONE else {}
    if _tells_end(outcome):
        _store_outcome(row, outcome)
    else:
        code = _CODES.get(operation.failure_code, operation.failure_code) or "command_lost"
        _store_failure(row, code, operation.last_message or NoAnswer())


def _store_failure(row: CommandRun, code: str, message: Message) -> None:
    row.failure_code, row.failure_message, row.failure = code, message, english(message)


def _tells_end(outcome: Mapping[str, str]) -> bool:
    return bool(outcome.get("exit_code")) or outcome.get("timed_out") == "yes"


def _store_outcome(row: CommandRun, outcome: Mapping[str, str]) -> None:
    code = outcome.get("exit_code", "")
    row.exit_code = int(code) if code else None
    row.timed_out = outcome.get("timed_out") == "yes"
    row.duration_ms = int(outcome.get("duration_ms", "0"))
    row.stdout_cut, row.stderr_cut = outcome.get("stdout_cut") == "yes", outcome.get("stderr_cut") == "yes"
    row.sealed_output = encrypt(json.dumps([outcome.get("stdout", ""), outcome.get("stderr", "")]))


def output_of(row: CommandRun) -> CommandOutput | None:
    """Return what the command wrote; None before its end, without an end that is known, and once it was erased.

    Raises:
        CannotDecrypt: it was encrypted under another key.
    """
    if not row.sealed_output:
        return None
    stdout, stderr = (_bytes(text) for text in json.loads(decrypt(row.sealed_output)))
    return CommandOutput(stdout, stderr)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # from a host
        return b""


def give_up_open_commands() -> int:
    """Give up all commands that have not ended, and return their number; call it inside a use case.

    In a database that was restored from a backup they may have run since, and must not be asked of their hosts again.
    """
    open_ones = CommandRun.objects.filter(operation__isnull=False).values_list("operation", flat=True)
    return sum(fail_operation(operation_id=key, code="command_lost", detail=NoAnswer()) for key in open_ones if key)


def delete_old_commands(*, now: datetime) -> int:
    """Delete commands that ended a while ago, with their results; return their number.

    This is a sweep.
    """
    return commands_ended_before(now - COMMANDS_KEPT).delete()[0]
