"""Volumes: places for them, those of the renter, made and deleted under short numbers."""

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common import clock
from common.db.transactions import joining
from common.errors import NotFound
from common.ids import new_uuid
from marketplace.hosts.storage_selectors import StorageHost, storage_hosts
from storage.constants import NAME_PATTERN
from storage.errors import VolumeBusy
from storage.states import VolumeState
from storage.volumes.selectors import holders_of, volumes_of
from storage.volumes.volumes import create_volume, delete_volume
from vast.constants import DAYS_PER_MONTH, GB_AT_MOST, REPEATED_WITHIN
from vast.errors import AskGone, InvalidArgs, NoSuchAsk
from vast.models import Kind
from vast.numbers.numbers import key_of, keys_of, number_of, numbers_of
from vast.search.conditions import Condition, read_conditions, read_order, sort_rows
from vast.search.places import geolocation_of
from vast.search.rows import dollars
from vast.values import read_limit, read_number

if TYPE_CHECKING:
    from storage.models import Volume

_OPTIONS: Final = frozenset({"order", "limit", "allocated_storage", "type"})
_SIZE_GB: Final = 15
_OWN_NAME: Final = "^volume-[0-9a-f]{8}$"
_AGAIN: Final = "Search again with `vastai search volumes`."


def volume_places(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the hosts that take volumes and meet the conditions; the number of a place is that of its host."""
    conditions = read_conditions(body, beside=_OPTIONS)
    order = read_order(body.get("order"))
    most = read_limit(body.get("limit"))
    hosts = storage_hosts()
    numbers = numbers_of(Kind.HOST, [host.id for host in hosts])
    owners = numbers_of(Kind.USER, {host.owner_id for host in hosts})
    rows = [_place(host, numbers[host.id], owners[host.owner_id]) for host in hosts]
    rows = [row for row in rows if _fits(row, conditions)]
    sort_rows(rows, order, lambda row: row)
    return rows[:most]


def volume_rows(owner: User) -> list[dict[str, Any]]:
    """Return the renter's volumes, newest first."""
    volumes = list(volumes_of(owner.pk))
    keys = [volume.pk for volume in volumes]
    numbers, holders = numbers_of(Kind.VOLUME, keys), holders_of(keys)
    hosts = numbers_of(Kind.HOST, {volume.host_id for volume in volumes})
    owners = numbers_of(Kind.USER, {volume.host.owner_id for volume in volumes})
    instances = numbers_of(Kind.INSTANCE, set(holders.values()))
    return [
        {
            "id": numbers[volume.pk],
            "label": volume.name,
            "disk_space": float(volume.size_gb),
            "status": volume.state,
            "instances": [instances[holders[volume.pk]]] if volume.pk in holders else [],
            "start_date": volume.created_at.timestamp(),
            "machine_id": hosts[volume.host_id],
            "host_id": owners[volume.host.owner_id],
            "dph_total": dollars(volume.micros_per_day) / 24,
            **_host_facts(volume),
        }
        for volume in volumes
    ]


def make_volume(*, owner: User, body: Mapping[str, Any]) -> "Volume":
    """Make a volume on a host; the same again within five minutes returns the one that it made."""
    number, size, name = body.get("id"), body.get("size", _SIZE_GB), body.get("name") or ""
    if type(number) is not int:
        raise InvalidArgs("id: Take it from `vastai search volumes`.")
    gb = read_number("size", size)
    if not 1 <= gb <= GB_AT_MOST:
        raise InvalidArgs(f"size: Send 1 to {GB_AT_MOST} GB.")
    if name and not (isinstance(name, str) and re.fullmatch(NAME_PATTERN, name)):
        raise InvalidArgs("name: Use up to 40 lowercase letters, digits and hyphens: it is mounted at /mnt/NAME.")
    host_id = place_key(number)
    with joining():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # a repetition waits for the first
        made = _made_before(owner, host_id, ceil(gb), name)
        if made is not None:
            return made
        try:
            return create_volume(owner=owner, name=name or fresh_name(), size_gb=ceil(gb), host_id=host_id)
        except NotFound as error:
            raise AskGone(f"Machine {number} takes no volumes now. {_AGAIN}") from error


def remove_volume(*, owner: User, number: int) -> None:
    """Delete a volume and its contents.

    Raises VolumeBusy while an instance has it, or its host works on it.
    """
    volume = own_volume(owner, number)
    holder = holders_of([volume.pk]).get(volume.pk)
    if holder is not None:
        user = number_of(Kind.INSTANCE, holder)
        raise VolumeBusy(
            f"Volume {number} is linked to instance {user}. Destroy that first (`vastai destroy instance {user}`), "
            "or stop it and detach the volume (`berth volume detach`)."
        )
    delete_volume(owner=owner, volume_id=volume.pk)


def own_volume(owner: User, number: int) -> "Volume":
    """Return the volume with this number.

    Raises:
        NotFound: the owner has none.
    """
    key = keys_of(Kind.VOLUME, [number]).get(number)
    volume = None if key is None else volumes_of(owner.pk).filter(pk=key).first()
    if volume is None:
        raise NotFound(f"You have no volume {number}. `vastai show volumes` lists yours.")
    return volume


def place_key(number: int) -> UUID:
    """Return the host that a place for volumes stands for.

    Raises:
        NoSuchAsk: there is none with this number.
    """
    key = keys_of(Kind.HOST, [number]).get(number)
    if key is None:
        raise NoSuchAsk(f"There is no place {number} for volumes. {_AGAIN}")
    return key


def fresh_name() -> str:
    """Return a name for a volume that was ordered without one."""
    return f"volume-{new_uuid().hex[-8:]}"


def volume_named_by(owner: User, wanted: Mapping[str, Any]) -> UUID:
    """Return the volume that `volume_info` of a create links.

    Raises InvalidArgs for a new one, or for another folder than the one where volumes are found here.
    """
    number, place = wanted.get("volume_id"), wanted.get("mount_path")
    if wanted.get("create_new") or type(number) is not int:
        raise InvalidArgs("volume_info: Create the volume first, with `vastai create volume`, then link it.")
    key = key_of(Kind.VOLUME, number)
    volume = volumes_of(owner.pk).filter(pk=key).first()
    if volume is None:
        raise InvalidArgs(f"volume_info: You have no volume {number}.")
    if place not in (None, "", f"/mnt/{volume.name}", f"/mnt/{volume.name}/"):
        raise InvalidArgs(f"volume_info: This volume is found at /mnt/{volume.name}. Name that as mount_path.")
    return key


def _made_before(owner: User, host_id: UUID, size_gb: int, name: str) -> "Volume | None":
    since = clock.now() - REPEATED_WITHIN
    same = volumes_of(owner.pk).filter(host_id=host_id, size_gb=size_gb, created_at__gt=since)
    same = same.exclude(state__in=(VolumeState.DELETING, VolumeState.FAILED))
    return same.filter(name=name).first() if name else same.filter(name__regex=_OWN_NAME).first()


def _fits(row: Mapping[str, Any], conditions: Sequence[Condition]) -> bool:
    return all(each.holds(row) for each in conditions)


def _place(host: StorageHost, number: int, owner: int) -> dict[str, Any]:
    price = dollars(host.micros_gb_day * DAYS_PER_MONTH)
    return {
        "id": number,
        "ask_contract_id": number,
        "machine_id": number,
        "host_id": owner,
        "disk_space": float(host.disk_free_gb),
        "disk_name": host.disk_kind,
        "disk_bw": 0.0,
        "storage_cost": price,
        "storage_cost_per_month": price,
        "inet_up": float(host.net_up_mbps or 0),
        "inet_down": float(host.net_down_mbps or 0),
        "reliability": 0.0,
        "reliability2": 0.0,
        "duration": 0.0,
        "cuda_max_good": 0.0,
        "cpu_ghz": 0.0,
        "driver_version": "",
        "verification": "verified" if host.verified else "unverified",
        "verified": host.verified,
        "rentable": True,  # every host that is listed takes volumes
        "external": False,
        "geolocation": geolocation_of(host.region),
        "score": 1 / price if price else 0.0,
    }


def _host_facts(volume: "Volume") -> dict[str, Any]:
    host = volume.host
    return {
        "disk_name": host.disk_kind,
        "driver_version": host.driver,
        "inet_up": float(host.net_up_mbps or 0),
        "inet_down": float(host.net_down_mbps or 0),
        "reliability2": (host.reliability_ppm or 0) / 1_000_000,
        "verification": "verified" if host.verified else "unverified",
        "geolocation": geolocation_of(host.region),
    }
