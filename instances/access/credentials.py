"""SSH credentials: keys, root's password, allowed networks.

Changes reach a running instance within seconds.
"""

import ipaddress
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from accounts.selectors import ssh_keys_of
from common import clock
from common.db.transactions import use_case
from common.encryption import encrypt
from common.errors import FieldError, InvalidInput
from common.messages.message import Name
from instances.access.extra_ports import open_ports
from instances.access.guards import (
    check_allow_list_enforced,
    check_stays,
    lock_for_access_change,
    update_access,
)
from instances.constants import ALLOWED_NETWORKS_AT_MOST
from instances.core.access_selectors import live_instances_of_user, renters_with_outdated_keys
from instances.core.passwords import hash_password, new_password
from instances.core.transitions import SYSTEM
from instances.models import Instance


def change_access(*, renter: User, instance_id: UUID, **changes: Any) -> Instance:
    """Change any of an instance's keys, allowed networks and extra ports, all together or not at all.

    `key_ids` are keys of the account (None: all keys, including later ones), `networks` those from which SSH is
    allowed (none: all), `ports` the container ports beside the image's own, `udp_ports` those of them that are
    published for UDP too.
    """
    known = read_networks(changes["networks"]) if "networks" in changes else None
    with use_case():
        instance = lock_for_access_change(renter, instance_id)
        if "key_ids" in changes:
            lines = [key.public_key for key in ssh_keys_of(renter, changes["key_ids"])]
            update_access(instance, kind="keys_changed", ssh_keys=lines, all_keys=changes["key_ids"] is None)
        if known is not None and known != instance.allow_from:
            check_allow_list_enforced(instance.host, known)
            update_access(instance, kind="addresses_changed", detail=Name(name=", ".join(known)), allow_from=known)
        if changes.keys() & {"ports", "udp_ports"}:
            check_stays(instance)
            open_ports(instance, changes.get("ports"), changes.get("udp_ports"))
    return instance


def apply_account_keys(*, user_id: UUID) -> int:
    """Apply a change of an account's keys to all its instances; return how many have changed.

    Instances with all keys get the new ones; a removed key is removed everywhere.
    """
    with use_case():
        rows = list(live_instances_of_user(user_id).select_related("renter").select_for_update(of=("self",), no_key=True))
        if not rows:
            return 0
        account = [key.public_key for key in ssh_keys_of(rows[0].renter, None)]
        return sum(_apply_account_keys(row, account) for row in rows)


def _apply_account_keys(instance: Instance, account: list[str]) -> bool:
    lines = account if instance.all_keys else [line for line in instance.ssh_keys if line in account]
    if lines == instance.ssh_keys:
        return False
    update_access(instance, kind="keys_followed", actor=SYSTEM, ssh_keys=lines)
    return True


def apply_all_account_keys() -> int:
    """Apply key changes whose hints were lost; return how many instances have changed.

    This is a sweep.
    """
    return sum(apply_account_keys(user_id=user_id) for user_id in renters_with_outdated_keys())


def set_password(*, renter: User, instance_id: UUID) -> tuple[Instance, str]:
    """Set a new random password for root and return it; it is shown this once and replaces an earlier one."""
    password = new_password()
    sealed = encrypt(hash_password(password))  # slow by design, so done before the row is locked
    with use_case():
        instance = lock_for_access_change(renter, instance_id)
        update_access(instance, kind="password_set", sealed_password=sealed, password_set_at=clock.now())
    return instance, password


def clear_password(*, renter: User, instance_id: UUID) -> Instance:
    """Remove root's password, which leaves keys alone; repeating it changes nothing."""
    with use_case():
        instance = lock_for_access_change(renter, instance_id)
        if instance.sealed_password:
            update_access(instance, kind="password_cleared", sealed_password="", password_set_at=None)
    return instance


def read_networks(texts: Sequence[str]) -> list[str]:
    """Return the networks in canonical form without duplicates, or raise InvalidInput.

    An address without a prefix is a network of one address.
    """
    known, wrong = [], []
    for position, text in enumerate(texts):
        try:
            known.append(str(ipaddress.ip_network(text.strip())))
        except ValueError:
            detail = _("%(text)s isn't an IP address or range.") % {"text": text.strip()[:50]}
            wrong.append(FieldError(f"allow_from.{position}", "invalid", detail))
    if len(texts) > ALLOWED_NETWORKS_AT_MOST:
        wrong.append(
            FieldError(
                "allow_from", "max_length", _("Enter at most %(most)s IPs or ranges.") % {"most": ALLOWED_NETWORKS_AT_MOST}
            )
        )
    if wrong:
        raise InvalidInput("The list of addresses is not valid.", errors=wrong)
    return list(dict.fromkeys(known))
