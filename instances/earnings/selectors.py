"""Where a charge arose: the instance behind its source."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from instances.models import Instance, Term
from storage.volumes.selectors import hosts_of_storage


@dataclass(frozen=True)
class Place:
    """The instance that was charged for, None for a volume or snapshot, and the host and offer that it is on."""

    instance_id: UUID | None
    host_id: UUID
    offer_id: UUID | None


def places_of(source_ids: Sequence[UUID]) -> dict[UUID, Place]:
    """By the id of an instance (its use, its disk, its kept GPUs), of a reserved term, a volume or a snapshot."""
    own = Instance.objects.filter(pk__in=source_ids).values_list("pk", "pk", "host_id", "offer_id")
    terms = Term.objects.filter(pk__in=source_ids)
    found = [*own, *terms.values_list("pk", "instance_id", "instance__host_id", "instance__offer_id")]
    places = {source: Place(instance, host, offer) for source, instance, host, offer in found}
    return places | {source: Place(None, host, None) for source, host in hosts_of_storage(source_ids).items()}
