"""Erasure of secrets that nothing can use any more."""

from datetime import datetime
from typing import Final

from django.db.models import Exists, OuterRef, Q

from instances.constants import SECRETS_KEPT
from instances.models import Instance, Launch
from instances.states import InstanceState

_IN_USE: Final = Q(launch=OuterRef("pk")) | Q(former_launch=OuterRef("pk"))


def erase_unused_secrets(*, now: datetime) -> int:
    """Erase the secrets of settings whose quotes have expired and whose instances are gone; return of how many.

    The names of the secrets stay with the order. This is a sweep.
    """
    used = Instance.objects.filter(_IN_USE).exclude(state=InstanceState.GONE)
    unused = Launch.objects.filter(~Q(sealed_secrets=b""), ~Exists(used), created_at__lt=now - SECRETS_KEPT)
    return unused.update(sealed_secrets=b"", erased_at=now)
