"""Stored launch settings: written with a quote, read for hosts and renters."""

import json
from typing import Any

from accounts.models import User
from common.encryption import decrypt, encrypt
from instances.errors import SecretsErased
from instances.launch.settings import LaunchSettings, Readiness, digest, secrets_digest
from instances.models.launches import Launch


def save_launch(renter: User, settings: LaunchSettings) -> Launch | None:
    """Store settings for a renter in the present transaction; None for empty ones."""
    if not settings:
        return None
    sealed = encrypt(json.dumps(dict(settings.secrets))).encode() if settings.secrets else b""
    return Launch.objects.create(
        renter=renter,
        **settings.plain,
        secret_names=sorted(settings.secrets),
        sealed_secrets=sealed,
        digest=digest(settings),
        secrets_digest=secrets_digest(settings),
    )


def secrets_of(launch: Launch) -> dict[str, str]:
    """Return the secrets by name, decrypted: for the instance's host, and for a copy of the settings."""
    sealed = bytes(launch.sealed_secrets)
    return dict(json.loads(decrypt(sealed.decode()))) if sealed else {}


def settings_of(launch: Launch | None) -> LaunchSettings:
    """Return stored settings as a value, secrets included; empty ones for None.

    Raises SecretsErased where the secrets are no longer stored.
    """
    if launch is None:
        return LaunchSettings()
    if launch.erased_at is not None and launch.secret_names:
        raise SecretsErased("The secrets of these launch settings were erased. Send them again.")
    return LaunchSettings(
        env=launch.env,
        secrets=secrets_of(launch),
        command=tuple(launch.command),
        args=tuple(launch.args),
        entrypoint=tuple(launch.entrypoint),
        workdir=launch.workdir,
        user=launch.user,
        shm_mb=launch.shm_mb,
        on_start=launch.on_start,
        readiness=None if launch.readiness is None else Readiness(**launch.readiness),
    )


def launch_resource(launch: Launch | None) -> dict[str, Any] | None:
    """Return what the renter may read of stored settings: all but the values of secrets; None for none."""
    if launch is None:
        return None
    shown = ("env", "command", "args", "entrypoint", "workdir", "user", "shm_mb", "on_start", "readiness")
    return {**{name: getattr(launch, name) for name in shown}, "secrets": launch.secret_names}
