"""Launch settings as the host's agent reads them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from instances.launch.settings import Readiness
from instances.launch.store import secrets_of
from instances.models import Launch


@dataclass(frozen=True)
class LaunchRow:
    """Launch settings, field for field as the agent reads them."""

    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    secrets_digest: str = ""
    command: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)
    workdir: str = ""
    user: str = ""
    shm_mb: int = 0
    on_start: str = field(default="", repr=False)
    readiness: Readiness | None = None


def launch_rows(launch_ids: Iterable[UUID | None]) -> dict[UUID | None, LaunchRow]:
    """Return the settings by id, in one query, or none without ids."""
    ids = {launch_id for launch_id in launch_ids if launch_id is not None}
    return {launch.pk: _row(launch) for launch in Launch.objects.filter(pk__in=ids)} if ids else {}


def _row(launch: Launch) -> LaunchRow:
    return LaunchRow(
        env=launch.env,
        secrets=secrets_of(launch),
        secrets_digest=launch.secrets_digest,
        command=[*launch.command, *launch.args],
        entrypoint=launch.entrypoint,
        workdir=launch.workdir,
        user=launch.user,
        shm_mb=launch.shm_mb or 0,
        on_start=launch.on_start,
        readiness=None if launch.readiness is None else Readiness(**launch.readiness),
    )
