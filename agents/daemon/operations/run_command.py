"""One command in a running container, without a connection to its renter: its input, its output, its exit code.

It is run at most once, and its words are sent until the market knows that it has begun. What an earlier run of this agent
began is ended and reported as `agent_restarted`, since nobody read its output meanwhile; a result that was not reported yet
is read from its record.
"""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.docker_engine.exec_processes import MARK_VARIABLE
from agents.daemon.engine.exec_stream import ERR, OUT
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.operations.command_records import CommandRecords
from agents.daemon.operations.command_streams import RunningCommand, StartedCommand, end_program, exit_code_of
from agents.daemon.reconciler.actions import Checkpoint, no_checkpoint

KIND: Final = "run_command"
AT_ONCE: Final = 8  # commands of one instance
LONGEST_S: Final = 3600.0


class ProgramExec(Protocol):
    """Exec interface that starts a program as any user, and signals all that belongs to it."""

    def program(
        self, instance: str, words: Sequence[str], env: Mapping[str, str], *, user: str, workdir: str
    ) -> StartedCommand: ...

    def signal_program(self, instance: str, mark: str, leader: int, number: int) -> bool: ...


class CommandRunner:
    """Operator of `run_command`; args: `instance`, `command`, `env`, `stdin`, `user`, `workdir`, `timeout_s`.

    `command` and `env` are JSON, `stdin` is in base64. `variables` are those that every session in the instance begins with.
    """

    def __init__(
        self,
        records: CommandRecords,
        exec_interface: ProgramExec | None,
        variables: Callable[[str], Mapping[str, str]],
        *,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> None:
        self._records = records
        self._exec_interface = exec_interface
        self._variables = variables
        self._checkpoint = checkpoint
        self._running = Counter[str]()
        self._known: set[str] = set()  # orders that this process has had, as long as something of them is on disk
        self._active: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, operation: Operation) -> Mapping[str, str]:
        key, instance = operation.order.id, operation.order.args["instance"]
        if self._exec_interface is None:
            raise Failed("simulated_host", "This host is simulated: nothing runs there.")
        if self._records.is_begun(key) or "command" not in operation.order.args:  # its words are sent until it has begun
            return self._resume(key, instance)
        with self._place(instance, key):
            self._records.begin(key, instance)
            self._checkpoint("command-noted")
            try:
                outcome = self._run(operation, self._exec_interface)
                self._records.end(key, outcome)
                self._checkpoint("command-ended")
                return outcome
            except Superseded:
                if operation.unwanted:
                    self._records.drop(key)
                raise

    def sessions(self, instance: str) -> int:
        """Return how many commands run in the instance; while one does, it is not idle."""
        return self._running[instance]

    def tidy(self, named: Collection[str]) -> None:
        """End and remove commands of an earlier run of this agent that nobody names any more."""
        with self._lock:
            known = set(self._known)
        for key, instance, has_ended in self._records.others({*named, *known}):
            if not has_ended:
                self._end_leftovers(key, instance)
            self._records.drop(key)

    def forget(self, named: Collection[str]) -> None:
        """Remove the records of commands whose result was received."""
        with self._lock:
            over = self._known - self._active - set(named)
            self._known -= over
        for key in over:
            self._records.drop(key)

    @contextmanager
    def _place(self, instance: str, key: str) -> Iterator[None]:
        with self._lock:
            if self._running[instance] >= AT_ONCE:
                raise Failed("too_many_commands", "Too many commands run in this instance.")
            self._running[instance] += 1
            self._known.add(key)
            self._active.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._active.discard(key)
                self._running[instance] -= 1
                if not self._running[instance]:
                    del self._running[instance]

    def _resume(self, key: str, instance: str) -> Mapping[str, str]:
        with self._lock:
            self._known.add(key)
        outcome = self._records.outcome(key)
        if outcome is not None:
            return outcome
        self._end_leftovers(key, instance)
        raise Failed("agent_restarted", "The agent was restarted while the command ran. It was ended, and is not run again.")

    def _run(self, operation: Operation, exec_interface: ProgramExec) -> dict[str, str]:
        args, key = operation.order.args, operation.order.id
        begun_at, command = time.monotonic(), self._start(operation, exec_interface)
        self._checkpoint("command-started")
        leader = 0
        ends_at = begun_at + min(LONGEST_S, float(args.get("timeout_s") or LONGEST_S))

        def stop(number: int) -> bool:
            nonlocal leader
            leader = leader or _pid(command)  # the engine may not know it at once
            return exec_interface.signal_program(args["instance"], key, leader, number)

        run = RunningCommand(operation, command, stop, ends_at, base64.b64decode(args.get("stdin", "")))
        with command.connection:
            try:
                run.follow()
            except Superseded:
                if operation.unwanted:
                    run.end()
                raise
            code = exit_code_of(command)
        if code is None and not run.timed_out:
            run.end()
            raise Failed("command_lost", "The connection to the command broke, so that its end is not known.")
        return {
            "exit_code": "" if code is None else str(code),
            "stdout": run.outputs[OUT].text,
            "stderr": run.outputs[ERR].text,
            "stdout_cut": "yes" if run.outputs[OUT].is_cut else "",
            "stderr_cut": "yes" if run.outputs[ERR].is_cut else "",
            "timed_out": "yes" if run.timed_out else "",
            "duration_ms": str(round((time.monotonic() - begun_at) * 1000)),
        }

    def _start(self, operation: Operation, exec_interface: ProgramExec) -> StartedCommand:
        args, key = operation.order.args, operation.order.id
        env = {**self._variables(args["instance"]), **json.loads(args.get("env") or "{}"), MARK_VARIABLE: key}
        try:
            return exec_interface.program(
                args["instance"],
                json.loads(args["command"]),
                env,
                user=args.get("user", ""),
                workdir=args.get("workdir", ""),
            )
        except EngineRefused as error:
            self._records.drop(key)  # it was not started, so another attempt would not be a second run
            code = "not_running" if error.missing else "command_refused"
            raise Failed(code, str(error)[:300]) from error
        except (EngineSilent, OSError) as error:
            self._end_leftovers(key, args["instance"])
            raise Failed("command_lost", "The container engine did not say whether it started the command.") from error

    def _end_leftovers(self, key: str, instance: str) -> None:
        if self._exec_interface is not None:
            exec_interface = self._exec_interface
            end_program(lambda number: exec_interface.signal_program(instance, key, 0, number))


def _pid(command: StartedCommand) -> int:
    with suppress(EngineRefused, EngineSilent, OSError):
        return command.pid()
    return 0
