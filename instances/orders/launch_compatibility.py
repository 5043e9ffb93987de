"""Compatibility of launch settings with the host; checked before anything is paid."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext as _

from common.errors import wrong_field
from instances.errors import LaunchUnsupported
from instances.launch.settings import LaunchSettings, change
from instances.launch.store import save_launch, settings_of
from instances.models import Instance, Launch
from marketplace.hosts.selectors import takes_launch_settings

if TYPE_CHECKING:
    from marketplace.models import Host


def check_launch(settings: LaunchSettings, *, host_id: UUID, ram_mb: int) -> None:
    """Raise LaunchUnsupported for a host whose agent ignores the settings, or InvalidInput for too much shared memory."""
    if not settings:
        return
    if not takes_launch_settings(host_id):
        raise _too_old()
    if settings.shm_mb is not None and settings.shm_mb > ram_mb:
        raise wrong_field("shm_mb", _("Use at most %(most)s MB: that is the memory of this size.") % {"most": ram_mb})


def check_stored_launch(launch: Launch | None, host: "Host") -> None:
    """Raise LaunchUnsupported for a host whose agent ignores the settings."""
    if launch is not None and not host.launch_settings:
        raise _too_old()


def changed_launch(launch: Launch | None, changes: Mapping[str, Any] | None, instance: Instance) -> Launch | None:
    """Return stored settings with these changes, in the present transaction; `launch` itself if nothing changes.

    Raises LaunchUnsupported or InvalidInput.
    """
    if not changes:
        return launch
    before = settings_of(launch)
    settings = change(before, changes)
    if settings == before:
        return launch
    check_launch(settings, host_id=instance.host_id, ram_mb=instance.ram_mb)
    return save_launch(instance.renter, settings)


def _too_old() -> LaunchUnsupported:
    return LaunchUnsupported(
        "The agent of this host is too old for an environment, a command or a start script. Choose another host, or leave"
        " them out."
    )
