"""Commands: run by the instance's host, and read at a signed address, since clients fetch it without a token."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from accounts.models import User
from common.encryption import CannotDecrypt
from common.messages.rendering import english
from instances.access.commands import command_run, output_of, read_command, start_command
from storage.operations.messages import OutputUnreadable
from vast.contracts import signed
from vast.contracts.changes import own_instance
from vast.errors import InvalidArgs

_SALT: Final = "berth.vast.command.1"
# Clients look for the result for nine seconds; whoever has the address may read it for longer than the command may take.
_TIMEOUT_S: Final = 60
_VALID_S: Final = 120


def run_command(*, renter: User, number: int, body: Mapping[str, Any]) -> str:
    """Run `command` in a shell of the instance, and return the signed text that `read_signed_result` takes."""
    instance = own_instance(renter, number)
    words = body.get("command")
    if not isinstance(words, str) or not words.strip():
        raise InvalidArgs("command: Send the command as text.")
    command = read_command({"command": ["/bin/sh", "-c", words], "timeout_seconds": _TIMEOUT_S})
    run = start_command(renter=renter, instance_id=instance.pk, command=command)
    return signed.sign(_SALT, renter, instance.pk.hex, run.pk.hex)


def read_signed_result(text: str) -> str | None:
    """Return what a command wrote to its output and then to its errors, or None while it runs.

    Raises:
        NotFound: The text is not one of ours, or older than two minutes.
    """
    renter, keys = signed.read(_SALT, text, valid_s=_VALID_S, again="Run the command again.")
    instance, command = (UUID(str(key)) for key in keys)
    run = command_run(renter=renter, instance_id=instance, command_id=command)
    if run.ended_at is None:
        return None
    try:
        found = output_of(run)
    except CannotDecrypt:
        return f"{english(OutputUnreadable())}\n"
    output = "" if found is None else (found.stdout + found.stderr).decode(errors="replace")
    if run.timed_out:
        return f"{output}The command was ended after {_TIMEOUT_S} s. Use `berth exec` for what takes longer.\n"
    return output or run.failure
