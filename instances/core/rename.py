"""Renaming of instances.

A name is shown to the renter alone, so it changes nothing else.
"""

from uuid import UUID

from accounts.models import User
from common.db.transactions import use_case
from instances.core.selectors import instance_of
from instances.core.transitions import touch_renter
from instances.models import Instance


def rename_instance(*, renter: User, instance_id: UUID, name: str) -> Instance:
    with use_case():
        instance = instance_of(renter, instance_id)
        Instance.objects.filter(pk=instance.pk).update(name=name)
        instance.name = name
        touch_renter(instance)
    return instance
