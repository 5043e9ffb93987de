"""`manage.py restore --from FOLDER`: restore a backup and make the market safe to start."""

from argparse import ArgumentParser
from pathlib import Path
from tarfile import TarError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseFailed
from django.db import connection

from common.backup_folder import BadBackup
from common.db.postgres_client import ClientFailed, one_line
from common.db.roles import RoleRefused
from common.unfinished_restore import TOLD, restore_is_unfinished
from instances.backups.restore import RestoreRefused, restore_backup


class Command(BaseCommand):
    help = (
        "Put a backup in place of the database, as the owner of the tables and with everything else stopped. Then the "
        "market is in a new epoch: hosts agree to it before they are rented out, no money leaves before Stripe and the "
        "ledger agree, and everybody has to sign in again. What happened after the backup is listed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--from", type=Path, required=True, dest="folder", metavar="FOLDER", help="one backup")
        parser.add_argument("--replace", action="store_true", help="the database holds something: give that up")
        parser.add_argument("--registry", type=Path, metavar="FOLDER", help="an empty folder for the registry's files")
        parser.add_argument(
            "--secrets", type=Path, metavar="FOLDER", help="write keys that are missing there, and no others"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            number = restore_backup(
                folder=options["folder"].absolute(),
                replace=options["replace"],
                registry=options["registry"],
                secrets=options["secrets"],
                report=self.stdout.write,
            )
        except (BadBackup, RestoreRefused, RoleRefused, ClientFailed, OSError, TarError) as error:
            raise CommandError(f"{error}{_next_steps()}") from error
        except DatabaseFailed as error:
            connection.close()  # it may be broken; whoever uses the database next opens another connection
            raise CommandError(f"The database refuses or does not answer: {one_line(error)}{_next_steps()}") from error
        self.stdout.write(
            f"Epoch {number} has begun. Start the market: its hosts tell what they hold, and staff find what happened after "
            "the backup under Epochs. Then run manage.py verify_ledger."
        )


def _next_steps() -> str:
    """Return how to go on after an error.

    Before the database was replaced nothing has changed; after that only the same restore can go on.
    """
    try:
        return f" {TOLD}" if restore_is_unfinished() else ""
    except DatabaseFailed:
        return " When it answers again, type the same restore again."
