"""Logs of instances: requested of the host when somebody looks, and kept for minutes."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.encryption import CannotDecrypt
from common.errors import IllegalTransition
from common.messages.rendering import english
from common.printable import printable_log_line
from instances.constants import LOG_FRESH, LOG_KEPT, LOG_PATIENCE, LOG_TAIL, LOG_TAIL_MOST
from instances.core.access_selectors import log_read_of, log_reads_before
from instances.core.endpoints import is_reachable
from instances.core.selectors import instance_of
from instances.errors import LogUnavailable
from instances.launch.store import secrets_of
from instances.models import Instance, LogRead
from instances.states import InstanceState
from storage.operations.messages import NoAnswer, OutputUnreadable
from storage.operations.outcomes import outcome_of
from storage.operations.services import delete_operation, request_operation
from storage.states import OperationState

KIND: Final = "read_log"
_LONGEST_LINE: Final = 4_000
_HIDDEN_LENGTH: Final = 4
_PAIR: Final = 2  # a time and a line
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})")


@dataclass(frozen=True)
class LogSearch:
    """A search for the last `tail` lines that contain `q`, in any case, since a time.

    `source` "on_start" is the log of the start script, "" that of the container.
    """

    tail: int = LOG_TAIL
    q: str = ""
    since: datetime | None = None
    source: str = ""

    @property
    def question(self) -> str:
        """Return the key of this search, a digest of fixed length."""
        return hashlib.sha256(json.dumps(asdict(self), default=str, sort_keys=True).encode()).hexdigest()

    @property
    def args(self) -> dict[str, str]:
        """Return the arguments for the host; of a search, it returns more lines than are shown (`show`).

        Lines that match by a secret alone are dropped here, and must not take the place of others.
        """
        since = "" if self.since is None else str(self.since.timestamp())
        found = {"tail": str(LOG_TAIL_MOST if self.q else self.tail), "q": self.q, "since": since}
        found |= {"show": str(self.tail)} if self.q else {}
        return found | {"source": self.source} if self.source else found


def read_log(*, renter: User, instance_id: UUID, search: LogSearch) -> LogRead:
    """Return the last result of the search, and request a new one of the host when it is too old.

    A caller that needs the new result asks again shortly after. Raises IllegalTransition when the instance is gone, and
    LogUnavailable while its host is silent.
    """
    instance, now = instance_of(renter, instance_id), clock.now()
    if instance.state == InstanceState.GONE:
        raise IllegalTransition("The instance was released, and its logs are deleted.", state=instance.state)
    known = log_read_of(instance.pk, search.question)
    if known is not None and _is_fresh(known, now):
        return known
    if not is_reachable(instance, now):
        raise LogUnavailable
    with use_case():
        return _request_log(instance, search, now)


def _is_fresh(known: LogRead, now: datetime) -> bool:
    if known.operation is not None:
        return now - known.asked_at < LOG_PATIENCE * 2
    return known.read_at is not None and now - known.read_at < LOG_FRESH


def _request_log(instance: Instance, search: LogSearch, now: datetime) -> LogRead:
    LogRead.objects.bulk_create([LogRead(instance=instance, question=search.question, asked_at=now)], ignore_conflicts=True)
    row = LogRead.objects.select_for_update(no_key=True).get(instance=instance, question=search.question)
    if _is_fresh(row, now):
        return row  # another request was faster
    operation = request_operation(
        host_id=instance.host_id,
        owner_id=instance.renter_id,
        kind=KIND,
        subject=instance.pk,
        args={"instance": instance.pk.hex, **search.args},
        within=LOG_PATIENCE,
    )
    row.operation, row.asked_at = operation.pk, now
    row.save(update_fields=["operation", "asked_at"])
    return row


def store_log_result(operation: Any) -> None:
    """Store the result of a log read, and delete the operation, since its outcome holds program output."""
    row = LogRead.objects.select_for_update(no_key=True).filter(operation=operation.pk).first()
    if row is not None:
        row.operation, row.read_at = None, clock.now()
        row.failure_message = None if operation.state == OperationState.DONE else operation.last_message or NoAnswer()
        if row.failure_message is None:
            try:
                _store_lines(row, operation)
            except CannotDecrypt:  # the log, or the secrets that it must not show
                row.failure_message = OutputUnreadable()
        row.failure = english(row.failure_message)
        row.save()
    delete_operation(operation_id=operation.pk)


def _store_lines(row: LogRead, operation: Any) -> None:
    outcome = outcome_of(operation)
    found = _lines(outcome.get("lines", ""), _hidden(row.instance), operation.args.get("q", ""))
    row.lines = found[-int(operation.args.get("show", LOG_TAIL_MOST)) :]
    row.cut = len(row.lines) < len(found) or bool(row.lines and outcome.get("cut"))


def _hidden(instance: Instance) -> list[str]:
    """Return what no stored log shows: the lines of secrets, except very short ones, the longest first.

    Not everyone who may read logs may connect, and JupyterLab prints its address with the token.
    """
    values = [instance.jupyter_token, *(secrets_of(instance.launch).values() if instance.launch else ())]
    lines = {line for value in values for line in value.splitlines() if len(line) >= _HIDDEN_LENGTH}
    return sorted(lines, key=len, reverse=True)


def _masked(line: str, hidden: Sequence[str]) -> str:
    for secret in hidden:
        line = line.replace(secret, "…")
    return line


def _lines(text: str, hidden: Sequence[str], q: str) -> list[list[str]]:
    """Parse a host's log into pairs of a time and a printable line; drop everything else.

    A line that contains `q` only within a secret is dropped too: searches could otherwise find a secret out, letter by
    letter.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    pairs = [pair for pair in found if isinstance(pair, list) and len(pair) == _PAIR] if isinstance(found, list) else []
    lines = [(_time(at), str(line), _masked(str(line), hidden)) for at, line in pairs[:LOG_TAIL_MOST]]
    shown = [(at, line) for at, logged, line in lines if line == logged or q.casefold() in line.casefold()]
    return [[at, printable_log_line(line, _LONGEST_LINE)] for at, line in shown]


def _time(value: object) -> str:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else ""


def delete_old_logs(*, now: datetime) -> int:
    """Delete results that nobody asks for any more and return their number.

    This is a sweep.
    """
    return log_reads_before(now - LOG_KEPT).delete()[0]
