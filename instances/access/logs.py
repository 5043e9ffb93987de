"""An instance's log: asked of its host when someone looks, kept for minutes, told as far as it is known."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import UnlawfulMove
from common.printable import printable_log_line
from instances.constants import LOG_FRESH, LOG_KEPT, LOG_PATIENCE, LOG_TAIL, LOG_TAIL_MOST
from instances.core.access_selectors import log_read_of, log_reads_before
from instances.core.endpoints import is_reachable
from instances.core.selectors import instance_of
from instances.errors import LogUnavailable
from instances.models import Instance, LogRead
from instances.states import InstanceState
from storage.operations.services import ask_operation, drop_operation
from storage.states import OperationState

KIND: Final = "read_log"
_LONGEST_LINE: Final = 4_000
_PAIR: Final = 2  # a time and a line
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})")


@dataclass(frozen=True)
class LogSearch:
    """The last `tail` lines that hold `q`, whatever the case, since a time."""

    tail: int = LOG_TAIL
    q: str = ""
    since: datetime | None = None

    @property
    def question(self) -> str:
        """Its name: the same for the same search, and short whatever is searched for."""
        return hashlib.sha256(json.dumps(asdict(self), default=str, sort_keys=True).encode()).hexdigest()

    @property
    def args(self) -> dict[str, str]:
        since = "" if self.since is None else str(self.since.timestamp())
        return {"tail": str(self.tail), "q": self.q, "since": since}


def read_log(*, renter: User, instance_id: UUID, search: LogSearch) -> LogRead:
    """What is known by now. When that is older than a moment the host is asked as well: look again shortly after.

    Raises UnlawfulMove when nothing is left of the instance, LogUnavailable while its host is silent.
    """
    instance, now = instance_of(renter, instance_id), clock.now()
    if instance.state == InstanceState.GONE:
        raise UnlawfulMove("The instance is gone, and its log with it.", state=instance.state)
    known = log_read_of(instance.pk, search.question)
    if known is not None and _serves(known, now):
        return known
    if not is_reachable(instance, now):
        raise LogUnavailable
    with use_case():
        return _ask(instance, search, now)


def _serves(known: LogRead, now: datetime) -> bool:
    if known.operation is not None:
        return now - known.asked_at < LOG_PATIENCE * 2
    return known.read_at is not None and now - known.read_at < LOG_FRESH


def _ask(instance: Instance, search: LogSearch, now: datetime) -> LogRead:
    LogRead.objects.bulk_create([LogRead(instance=instance, question=search.question, asked_at=now)], ignore_conflicts=True)
    row = LogRead.objects.select_for_update(no_key=True).get(instance=instance, question=search.question)
    if _serves(row, now):
        return row  # someone else was faster
    operation = ask_operation(
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


def conclude_log(operation: Any) -> None:
    """Keep what was read. The operation itself is dropped: it holds what programs have said."""
    row = LogRead.objects.select_for_update(no_key=True).filter(operation=operation.pk).first()
    if row is not None:
        row.operation, row.read_at = None, clock.now()
        row.failure = "" if operation.state == OperationState.DONE else operation.detail or "The host gave no answer."
        if not row.failure:
            lines = operation.outcome.get("lines", "")
            # Whoever may read is not one who may connect, and JupyterLab likes to print its address.
            token = row.instance.jupyter_token
            row.lines = _lines(lines.replace(token, "…") if token else lines)
            row.cut = bool(operation.outcome.get("cut"))
        row.save()
    drop_operation(operation_id=operation.pk)


def _lines(text: str) -> list[list[str]]:
    """What a host says is a log: pairs of a time and printable text, and nothing else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    pairs = [pair for pair in found if isinstance(pair, list) and len(pair) == _PAIR] if isinstance(found, list) else []
    return [[_time(at), printable_log_line(str(line), _LONGEST_LINE)] for at, line in pairs[:LOG_TAIL_MOST]]


def _time(value: object) -> str:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else ""


def drop_old_logs(*, now: datetime) -> int:
    """Sweep: nobody looks any more."""
    return log_reads_before(now - LOG_KEPT).delete()[0]
