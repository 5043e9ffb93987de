"""Re-imaging: a fresh root file system from an image.

The data disk stays, and so does the former root until the new one has run.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import IllegalTransition
from common.messages.message import Change, Message
from common.messages.rendering import columns
from instances.access.extra_ports import take_additional_ports
from instances.constants import DEADLINES, JUPYTER_TOKEN_BYTES
from instances.core.endpoints import container_ports
from instances.core.observations import ObservedRow
from instances.core.selectors import instance_of
from instances.core.transitions import (
    HOST,
    NO_PROGRESS,
    RENTER,
    change_state,
    check_action,
    record_event,
    retry_stale,
    touch_host,
    touch_renter,
    touch_to_run,
)
from instances.lifecycle.launch_columns import launch_fields
from instances.metering.reserved_terms import update_locked_columns
from instances.models import Instance
from instances.orders.quotes import check_image
from instances.states import InstanceState
from marketplace.leasing.offer_selectors import offer_view
from storage.images.selectors import find_image

if TYPE_CHECKING:
    from storage.models import Image

_NO_WAY_BACK = {"former_root": None, "former_image_id": None, "former_launch_id": None}
_COMING = (InstanceState.STARTING, InstanceState.RESTARTING)


def reimage_instance(*, renter: User, instance_id: UUID, image: str, launch: Mapping[str, Any] | None = None) -> Instance:
    """Replace the root of an instance by a fresh one from an image (a slug or public id).

    A running instance gets it at once with its GPUs kept, a stopped one at its next start. Everything outside the
    data disk is lost when the new root runs; a failure before that leads back to the former root. `launch` are changes
    of the launch settings, which otherwise stay. Raises IllegalTransition, NotFound, NoPorts, LaunchUnsupported, or
    InvalidInput for settings, or an image that does not fit the host.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        check_action(instance, "reimage")
        chosen = find_image(image, renter)
        check_image(offer_view(instance.offer_id), chosen)
        fields = _fresh_root(instance, chosen) | _access_fields(instance, chosen) | launch_fields(instance, launch)
        detail = Change(before=instance.image.slug, after=chosen.slug)
        if instance.state == InstanceState.RUNNING:
            _begin(instance, fields, detail)
        else:
            update_locked_columns(instance, **fields)
            record_event(instance, kind="reimage_set", actor=RENTER, detail=detail)
            touch_renter(instance)
            touch_host(instance)
        return instance

    with use_case():
        return retry_stale(attempt)


def cancel_reimage(*, renter: User, instance_id: UUID) -> Instance:
    """Cancel a re-image that has not begun; repeating it changes nothing.

    Raises IllegalTransition once the fresh root is being made.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        if not instance.awaits_root:
            return instance
        if not instance.may_keep_root:
            raise IllegalTransition(
                "The new system disk is already being created.", state=instance.state, actions=instance.actions
            )
        update_locked_columns(instance, **_former_root_fields(instance))
        record_event(instance, kind="reimage_taken_back", actor=RENTER)
        touch_renter(instance)
        touch_host(instance)
        return instance

    with use_case():
        return retry_stale(attempt)


def should_revert_root(instance: Instance, row: ObservedRow) -> bool:
    """Return whether a fresh root has failed at its first run, so that the former root is used again."""
    first = instance.awaits_root and instance.run_generation == instance.root_generation
    return first and row.phase == "failed" and instance.state in _COMING


def revert_root(instance: Instance, row: ObservedRow, at: datetime) -> None:
    """Run again on the former root, with GPUs and money unchanged, and record what went wrong."""
    update_locked_columns(
        instance,
        **_former_root_fields(instance),
        run_generation=instance.run_generation + 1,
        observed_generation=row.generation,
        observed_at=at,
        setback_code=(row.failure_code or row.phase)[:40],
        **columns("setback_detail", row.detail),
        **NO_PROGRESS,
        deadline=clock.now() + DEADLINES[InstanceState(instance.state)],
    )
    record_event(instance, kind="reimage_failed", actor=HOST, detail=row.detail)
    touch_to_run(instance)


def accepted_root_fields(instance: Instance) -> dict[str, Any]:
    """Return the columns after the first run on a fresh root; the host has deleted the former root."""
    return dict(_NO_WAY_BACK) if instance.awaits_root else {}


def _begin(instance: Instance, fields: dict[str, Any], detail: Message) -> None:
    update_locked_columns(instance, **fields)
    run_generation = instance.run_generation + 1
    change_state(
        instance,
        InstanceState.RESTARTING,
        kind="reimage_asked",
        actor=RENTER,
        detail=detail,
        run_generation=run_generation,
        setback_code="",
        **columns("setback_detail", None),
    )
    touch_to_run(instance)


def _fresh_root(instance: Instance, image: "Image") -> dict[str, Any]:
    """Return the columns of a fresh root, with a number that no root of this instance ever had.

    A re-image that has not begun is skipped: the root to go back to stays the one before it.
    """
    kept = instance.former_root if instance.may_keep_root else instance.root_number
    kept_image = instance.former_image_id if instance.may_keep_root else instance.image_id
    kept_launch = instance.former_launch_id if instance.may_keep_root else instance.launch_id
    number = instance.roots_made + 1
    return {
        "image_id": image.pk,
        "root_number": number,
        "roots_made": number,
        "root_generation": instance.run_generation + 1,
        "former_root": kept,
        "former_image_id": kept_image,
        "former_launch_id": kept_launch,
    }


def _former_root_fields(instance: Instance) -> dict[str, Any]:
    former = {"image_id": instance.former_image_id, "launch_id": instance.former_launch_id}
    return {"root_number": instance.former_root, **former, **_NO_WAY_BACK}


def _access_fields(instance: Instance, image: "Image") -> dict[str, Any]:
    """Return the ports and token that the new image needs; ports that it does not serve are kept."""
    missing = [port for port in container_ports(image) if port not in dict(instance.ports)]
    pairs = [*instance.ports, *zip(missing, take_additional_ports(instance, len(missing)), strict=True)]
    fields: dict[str, Any] = {"ports": [list(pair) for pair in pairs]} if missing else {}
    if image.has_jupyter and not instance.jupyter_token:
        fields["jupyter_token"] = secrets.token_hex(JUPYTER_TOKEN_BYTES)
    return fields
