"""Restore of the market from a backup.

The backup is checked first, then put in place in one step or not at all, and made safe before the market starts: a
new epoch (hosts agree before anything is sold), no money leaves, all sessions end. What happened after the backup is
listed as far as the ledger's anchors and Stripe know it; hosts tell theirs when they report.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from billing.ledger.anchors import read_anchors
from billing.ledger.seals import latest_seals
from billing.payments.reconcile_stripe import request_reconciliation, run_reconciliation
from billing.stripe import client
from common.backup_folder import BadBackup, Manifest, finish_unpacking, read_manifest, takes_files, unpack, write_private
from common.db.postgres_client import postgres_client
from common.db.roles import grant_role
from common.db.transactions import exclusive_lock, use_case
from common.unfinished_restore import SET_MARK, remove_mark
from instances.backups.backup import ANCHORS, DATABASE, REGISTRY, SECRET_FILES, SECRETS
from instances.epochs.services import begin_epoch
from marketplace.hosts.epochs import add_findings, epoch_numbers

_INVOICES = (
    "Invoices that were issued after the backup are not in the books: their months are invoiced anew, under numbers that "
    "begin at the next million of the year, so no number is on two. Tell whoever has the former ones that they are void."
)
# Without these keys the database is of little use: its encrypted values cannot be read, and its signatures do not
# match.
_MUST_BE_THE_SAME = ("secret_key", "ledger_signing_key")
_ASIDE: Final = "before-epoch-"
# An arbitrary number.
_RESTORE_LOCK: Final = 7_260_418_335


class RestoreRefused(Exception):
    """The restore was refused and nothing was changed; the text says what to do."""


def restore_backup(
    *, folder: Path, replace: bool, registry: Path | None, secrets: Path | None, report: Callable[[str], object]
) -> int:
    """Restore a backup and return the number of the new epoch.

    Raises BadBackup, RestoreRefused and ClientFailed; the database is then unchanged. A second restore at the same
    time is refused; the lock belongs to this database connection, which therefore stays open until the end.
    """
    with exclusive_lock(_RESTORE_LOCK) as ours:
        if not ours:
            raise RestoreRefused("Another restore of this database is in progress; wait until it has finished.")
        return _restore(folder=folder, replace=replace, registry=registry, secrets=secrets, report=report)


def _restore(
    *, folder: Path, replace: bool, registry: Path | None, secrets: Path | None, report: Callable[[str], object]
) -> int:
    manifest = _checked(folder)
    if secrets is not None:
        _write_secrets(folder, secrets)
    _check_keys(folder)
    _check_target(replace=replace)
    _check_registry(folder, registry)
    # From here until the mark is removed, the market cannot start.
    postgres_client().replace(folder / DATABASE, and_then=SET_MARK)
    report(f"The database is as it was at {manifest.made_at}.")
    call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
    if settings.APP_DATABASE_URL:
        grant_role(settings.APP_DATABASE_URL)
    made_at = datetime.fromisoformat(manifest.made_at)
    number = begin_epoch(reason=f"restored from the backup of {made_at:%Y-%m-%d %H:%M:%S} UTC", backup_at=made_at)
    Session.objects.all().delete()
    if registry is not None:
        unpack(folder / REGISTRY, registry)
    findings = [_INVOICES, *_anchors(folder, number), *_stripe()]
    with use_case():
        add_findings(findings)
        remove_mark()
    if registry is not None:
        finish_unpacking(registry)
    for line in findings:
        report(line)
    return number


def _checked(folder: Path) -> Manifest:
    manifest = read_manifest(folder)
    if DATABASE not in manifest.files:
        raise BadBackup(f"The backup is damaged: {DATABASE} is not listed.")
    loader = MigrationLoader(None, ignore_no_migrations=True)
    known = {".".join(key) for key in loader.disk_migrations} | {".".join(key) for key in loader.replacements}
    ours = {app for app, _ in loader.disk_migrations}
    newer = [name for name in manifest.migrations if name not in known and name.partition(".")[0] in ours]
    if newer:
        raise BadBackup(f"This backup was made by a newer version of Berth; unknown migrations: {', '.join(newer[:5])}.")
    if manifest.currency != settings.MARKET_CURRENCY:
        here = f"MARKET_CURRENCY is {settings.MARKET_CURRENCY}"
        raise RestoreRefused(f"The backup uses the currency {manifest.currency}, this installation {here}.")
    return manifest


def _write_secrets(folder: Path, target: Path) -> None:
    """Copy the backup's keys to where the deployment reads them, never over an existing file."""
    for name in SECRET_FILES:
        source = folder / SECRETS / name
        if source.exists() and not (target / name).exists():
            write_private(target / name, source.read_bytes())


def _check_keys(folder: Path) -> None:
    for name in _MUST_BE_THE_SAME:
        if (folder / SECRETS / name).read_text() != getattr(settings, SECRET_FILES[name]):
            raise RestoreRefused(
                f"{SECRET_FILES[name]} is not the backup's. Put {folder / SECRETS / name} in its place "
                "(--secrets FOLDER writes files that are missing), then restore again."
            )


def _check_target(*, replace: bool) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        (tables,) = cursor.fetchone()
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        (others,) = cursor.fetchone()
    if others:
        raise RestoreRefused(f"{others} other connections to the database are open: stop web, worker, beat and relay first.")
    if tables and not replace:
        raise RestoreRefused("The database is not empty. Back it up, then use --replace to overwrite it.")


def _check_registry(folder: Path, registry: Path | None) -> None:
    if registry is None:
        return
    if not (folder / REGISTRY).exists():
        raise RestoreRefused("The backup contains no registry images; omit --registry.")
    if not takes_files(registry):
        raise RestoreRefused(f"{registry} is not empty; images are only restored into an empty folder.")


def _anchors(folder: Path, epoch: int) -> list[str]:
    """Move anchors of seals that the backup lacks aside, and restore missing ones; return findings.

    Without that, new seals with the same numbers could not be anchored.
    """
    if not settings.LEDGER_ANCHOR_DIR:
        return []
    place = Path(settings.LEDGER_ANCHOR_DIR)
    place.mkdir(parents=True, exist_ok=True)
    last = max((seal.number for seal in latest_seals(1)), default=0)
    aside = place / f"{_ASIDE}{epoch}"
    for anchor in read_anchors(place):
        if anchor.number > last:
            aside.mkdir(exist_ok=True)
            (place / anchor.name).rename(aside / anchor.name)
    for kept in sorted((folder / ANCHORS).glob("*")):
        if not (place / kept.name).exists():
            write_private(place / kept.name, kept.read_bytes())
    return _lost_seals(place, last, epoch)


def _lost_seals(place: Path, last: int, epoch: int) -> list[str]:
    """Report the seals that are lost, also those that an interrupted restore put aside for an epoch that is gone."""
    gone = [path for path in place.glob(f"{_ASIDE}*") if _epoch_of(path) not in epoch_numbers() - {epoch}]
    newest = {path: max((anchor.number for anchor in read_anchors(path)), default=0) for path in sorted(gone)}
    folders = [str(path) for path, number in newest.items() if number > last]
    if not folders:
        return []
    return [
        f"The ledger was anchored up to seal {max(newest.values())}; the backup ends at {last}: what was posted between is "
        f"lost here. These heads are in {', '.join(folders)}."
    ]


def _epoch_of(path: Path) -> int:
    """Return the epoch after which a folder is named; 0 for another folder."""
    number = path.name.removeprefix(_ASIDE)
    return int(number) if number.isdecimal() else 0


def _stripe() -> list[str]:
    if not client.is_configured():
        command = 'manage.py lift_money_freeze --reason "…"'
        return [f"Card payments are off: once the books are compared with the bank, run {command}."]
    done = run_reconciliation(reconciliation_id=request_reconciliation(actor="restore").pk)
    if done.failure:
        return [f"Stripe could not be compared: {done.failure} It is tried again daily, and by manage.py reconcile_stripe."]
    healed = [
        f"Stripe knew of {done.healed} payments, refunds or disputes that the backup did not: they are in the ledger now."
    ]
    return [*(healed if done.healed else []), *done.findings]
