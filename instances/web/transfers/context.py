"""Template context of clones and migrations: offers to choose from, and the progress of copying."""

from typing import Any, Final

from instances.models import Instance, Move
from instances.states import InstanceState, MoveState
from instances.transfers.selectors import Progress, open_transfer, progress_of
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offers_like, search_offers
from storage.images.selectors import needs_of_image

SHOWN: Final = 40


def destinations_for(instance: Instance, *, verb: str) -> list[dict[str, Any]]:
    """Return offers with room for the instance.

    For a clone the present host comes first, then the same GPU model, then others, the cheapest first.
    """
    needs = needs_of_image(instance.image)
    query = OfferQuery(gpu_count=instance.gpu_count, data_disk_gb=instance.data_disk_gb, image_needs=needs)
    # Only GPUs that are free now, since a transfer does not wait for spot rents to be stopped.
    open_now = [row for row in search_offers(query).offers if row["gpu_free"] >= instance.gpu_count]
    found = [row for row in open_now if row["host_id"] != instance.host_id]
    found.sort(key=lambda row: row["gpu_model"] != instance.offer.gpu_model)  # a stable sort keeps the order by price
    own = [] if verb == "migrate" else offers_like([instance.offer_id])
    return [row | {"same_host": row["host_id"] == instance.host_id} for row in [*own, *found[:SHOWN]]]


class TransferRow:
    """An open transfer as the instance's page shows it."""

    def __init__(self, move: Move) -> None:
        self.move = move
        self.seen: Progress = progress_of(move)

    @property
    def is_copying(self) -> bool:
        return self.move.state == MoveState.COPYING

    @property
    def is_clone(self) -> bool:
        return self.move.source_id != self.move.target_id


def open_transfer_row(instance: Instance) -> TransferRow | None:
    """Return the open transfer, or None without a query in states in which there is none."""
    if instance.state in (InstanceState.GONE, InstanceState.REQUESTED, InstanceState.WAITING):
        return None
    found = open_transfer(instance.pk)
    return TransferRow(found) if found is not None else None
