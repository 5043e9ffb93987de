"""Instances, hosts and offers that charges arose from."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from instances.models import Instance, Term
from storage.volumes.selectors import hosts_of_storage


@dataclass(frozen=True)
class ChargeOrigin:
    """Origin of a charge: instance (None for a volume or snapshot), host and offer."""

    instance_id: UUID | None
    host_id: UUID
    offer_id: UUID | None


def origins_of(source_ids: Sequence[UUID]) -> dict[UUID, ChargeOrigin]:
    """Map source ids to origins.

    Sources are instances (their use, disk and kept GPUs), reserved terms, volumes and snapshots.
    """
    own = Instance.objects.filter(pk__in=source_ids).values_list("pk", "pk", "host_id", "offer_id")
    terms = Term.objects.filter(pk__in=source_ids)
    found = [*own, *terms.values_list("pk", "instance_id", "instance__host_id", "instance__offer_id")]
    places = {source: ChargeOrigin(instance, host, offer) for source, instance, host, offer in found}
    return places | {source: ChargeOrigin(None, host, None) for source, host in hosts_of_storage(source_ids).items()}
