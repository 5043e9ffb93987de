"""Backup of the market: database, encryption and signing keys, ledger anchors, and saved images."""

from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from billing.ledger.seals import latest_seals
from common import clock
from common.backup_folder import Manifest, new_folder, pack, write_manifest, write_private
from common.db.postgres_client import postgres_client
from marketplace.hosts.epochs import present_epoch

DATABASE: Final = "database.dump"
REGISTRY: Final = "registry.tar"
SECRETS: Final = "secrets"
ANCHORS: Final = "anchors"
# Files as `deploy/make-secrets` names them, and their settings. Passwords of servers (PostgreSQL, Redis, mail) and
# Stripe's keys are left out: a new machine has its own, or they can be issued again.
SECRET_FILES: Final = {
    "secret_key": "SECRET_KEY",
    "relay_secret": "RELAY_SECRET",
    "ledger_signing_key": "LEDGER_SIGNING_KEY",
    "registry_key": "MARKET_REGISTRY_KEY",
    "registry_certificate": "MARKET_REGISTRY_CERTIFICATE",
}
_RECORDED_SETTINGS: Final = ("SITE_URL", "RELAY_URL", "MARKET_CURRENCY", "MARKET_REGISTRY", "LEDGER_ANCHOR_DIR")


def make_backup(*, parent: Path, registry: Path | None) -> Path:
    """Write a backup into a new folder below `parent`, complete or not at all, and return the folder.

    `registry` is the folder of the registry of saved images. The registry may run meanwhile, since its files never
    change. Raises NoBackup, ClientFailed and OSError.
    """
    name = f"berth-{clock.now():%Y%m%dT%H%M%SZ}"
    client = postgres_client()
    with new_folder(parent, name) as folder:
        manifest = _manifest(registry)  # before the dump, so that the dump contains whatever the manifest names
        client.dump(folder / DATABASE)
        if registry is not None:
            pack(registry, folder / REGISTRY)  # after the dump, so that every image in the dump is packed
        for file, setting in SECRET_FILES.items():
            if value := getattr(settings, setting):
                write_private(folder / SECRETS / file, value.encode())
        anchors = Path(settings.LEDGER_ANCHOR_DIR) if settings.LEDGER_ANCHOR_DIR else None
        for path in sorted(anchors.glob("seal-*.json")) if anchors is not None and anchors.is_dir() else ():
            write_private(folder / ANCHORS / path.name, path.read_bytes())
        write_manifest(folder, manifest)
    return parent / name


def _manifest(registry: Path | None) -> Manifest:
    seal = next(iter(latest_seals(1)), None)
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        (server,) = cursor.fetchone()
    return Manifest(
        made_at=clock.now().isoformat(),
        server=int(server),
        currency=settings.MARKET_CURRENCY,
        epoch=present_epoch(),
        seal=0 if seal is None else seal.number,
        seal_head="" if seal is None else seal.head,
        migrations=sorted(".".join(key) for key in MigrationRecorder(connection).applied_migrations()),
        settings={name: str(getattr(settings, name)) for name in _RECORDED_SETTINGS},
        missing=_missing(registry),
    )


def _missing(registry: Path | None) -> list[str]:
    """Return what the backup lacks, which the operator has to copy by other means."""
    left = ["Passwords of PostgreSQL, Redis and the mail server, and the keys of Stripe: a new machine has its own."]
    if settings.MARKET_REGISTRY and registry is None:
        left.append("The images of the registry: name its folder with --registry, or copy its volume.")
    left.append("What users keep in object storage of their own: only its address and its sealed login are in the database.")
    if settings.LEDGER_ANCHOR_STORE:
        left.append("The anchors in object storage: they stay there, and a restore is compared with them.")
    left.append("Disks, volumes, snapshots and images on hosts: they stay there.")
    return left
