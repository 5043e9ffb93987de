"""Reads about access: keys that follow an account, leftover ports, log results."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, Q, QuerySet, Value

from common.errors import NotFound
from instances.models import CommandRun, Instance, InstancePort, LogRead
from instances.states import ENDING


def live_instances_of_user(user_id: UUID) -> QuerySet[Instance]:
    """Return the user's instances that are not being released, with the columns about access."""
    return Instance.objects.filter(renter_id=user_id).exclude(state__in=ENDING).order_by("pk")


def renters_with_outdated_keys() -> set[UUID]:
    """Return renters with an instance whose keys do not match their account's."""
    keys = ArrayAgg("renter__ssh_keys__public_key", filter=Q(renter__ssh_keys__isnull=False), default=Value([]))
    rows = Instance.objects.exclude(state__in=ENDING).order_by().annotate(account_keys=keys)
    found = rows.values_list("renter_id", "all_keys", "ssh_keys", "account_keys").iterator()
    return {renter for renter, every, own, account in found if not _keys_match(every, set(own), set(account))}


def _keys_match(every: bool, own: set[str], account: set[str]) -> bool:
    return own == account if every else own <= account


def ports_left_over() -> Iterator[int]:
    """Yield ids of host ports that an instance no longer lists and its container no longer publishes.

    Such a container was replaced or stopped since the port was closed.
    """
    rows = (
        InstancePort.objects.filter(
            Q(instance__observed_generation__gte=F("instance__ports_from_generation"))
            | Q(instance__stopped_at__isnull=False),
            instance__ports_from_generation__gt=0,
        )
        .order_by("pk")
        .values_list("pk", "host_port", "instance__ports")
    )
    return (pk for pk, taken, named in rows.iterator() if taken not in [outside for _, outside in named])


def log_read_of(instance_id: UUID, question: str) -> LogRead | None:
    return LogRead.objects.filter(instance_id=instance_id, question=question).first()


def log_reads_before(asked_before: datetime) -> QuerySet[LogRead]:
    return LogRead.objects.filter(asked_at__lt=asked_before)


def command_of(instance_id: UUID, command_id: UUID) -> CommandRun:
    """Return a command of the instance, or raise NotFound."""
    found = CommandRun.objects.filter(pk=command_id, instance_id=instance_id).first()
    if found is None:
        raise NotFound("This command doesn't exist; results are deleted after an hour.")
    return found


def commands_open(instance_id: UUID) -> int:
    """Return how many commands of the instance have not ended."""
    return CommandRun.objects.filter(instance_id=instance_id, ended_at=None).count()


def commands_since(renter_id: UUID, since: datetime) -> int:
    """Return how many commands the renter has requested since then."""
    return CommandRun.objects.filter(instance__renter_id=renter_id, asked_at__gt=since).count()


def command_outputs_beyond(instance_id: UUID, newest: int) -> QuerySet[CommandRun]:
    """Return the instance's commands with output, except for those that ended last."""
    own = CommandRun.objects.filter(instance_id=instance_id).exclude(sealed_output="")
    return own.exclude(pk__in=list(own.order_by("-ended_at", "-pk").values_list("pk", flat=True)[:newest]))


def commands_ended_before(at: datetime) -> QuerySet[CommandRun]:
    return CommandRun.objects.filter(asked_at__lt=at, ended_at__lt=at)
