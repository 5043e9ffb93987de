"""Template contexts of growing, moving and copying volumes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext

from accounts.models import User
from common import clock
from instances.models import Instance
from instances.states import InstanceState
from instances.web.volumes.rows import VolumeRow, volume_rows
from instances.web.volumes.transfer_forms import VolumeSizeForm, VolumeTransferForm
from marketplace.hosts.storage_selectors import StorageHost, storage_hosts
from marketplace.pricing.transfer_time import transfer_minutes
from storage.states import VolumeState
from storage.volumes.grow import grown_price
from storage.volumes.selectors import volume_of, volumes_of
from storage.volumes.transfer_selectors import bytes_to_transfer, transfers_awaited_by

if TYPE_CHECKING:
    from storage.models import Volume


def size_context(user: User, volume_id: UUID, sent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the context of the size form and its price, or raise NotFound."""
    volume = volume_of(user.pk, volume_id)
    form = VolumeSizeForm(sent, auto_id="size-%s", volume=volume)
    context: dict[str, Any] = {"it": volume, "form": form, "kind": "size"}
    size_gb = form.cleaned_data["size_gb"] if form.is_valid() else form.fields["size_gb"].initial
    if sent is None or form.is_valid():
        context |= {"size_gb": size_gb, "micros_per_day": grown_price(volume, size_gb)}
    return context


def transfer_context(user: User, volume_id: UUID, sent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the context of the transfer form with every host that has room, or raise NotFound."""
    volume = volume_of(user.pk, volume_id)
    carried, hosts = bytes_to_transfer(volume), hosts_with_room(volume)
    form = VolumeTransferForm(sent, auto_id="travel-%s", volume=volume, hosts=hosts, carried_bytes=carried)
    return {"it": volume, "form": form, "kind": "travel", "carried_bytes": carried, "hosts": hosts}


def hosts_with_room(volume: "Volume") -> Sequence[StorageHost]:
    found = [host for host in storage_hosts() if host.id != volume.host_id and host.runtime == volume.host.runtime]
    return [host for host in found if host.disk_free_gb >= volume.size_gb]


def movable_volumes(user: User, host_id: UUID) -> list[tuple["Volume", str]]:
    """Return the user's free volumes on other hosts of the region, each with a text about its transfer."""
    there = next((host for host in storage_hosts() if host.id == host_id), None)
    if there is None:
        return []
    away = volumes_of(user.pk).filter(host__region=there.region, host__runtime=there.runtime, state=VolumeState.READY)
    rows = volume_rows(list(away.exclude(host_id=host_id).order_by("name")), clock.now())
    return [(row.volume, transfer_text(row.volume, there)) for row in rows if row.can_travel]


def transfer_text(volume: "Volume", there: StorageHost) -> str:
    """Return a text that the volume is moved first, and about how long that takes."""
    minutes = transfer_minutes(bytes_to_transfer(volume), volume.host.net_up_mbps, there.net_down_mbps)
    if minutes is None:
        return gettext("moved here from %(host)s first") % {"host": volume.host.name}
    return gettext("moved here from %(host)s first, about %(minutes)s min") % {
        "host": volume.host.name,
        "minutes": minutes,
    }


def awaited_volumes(instance: Instance) -> list[VolumeRow]:
    """Return the volumes that the instance waits for."""
    if instance.state != InstanceState.COPYING:
        return []
    ids = [move.source_id for move in transfers_awaited_by(instance.pk)]
    volumes = [volume_of(instance.renter_id, volume_id) for volume_id in ids]
    return volume_rows(volumes, clock.now()) if volumes else []
