"""`manage.py backup --to FOLDER`: write all that a new machine needs to go on into one folder."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseFailed

from common.backup_folder import NoBackup, read_manifest
from common.db.postgres_client import ClientFailed, one_line
from common.unfinished_restore import TOLD, restore_is_unfinished
from instances.backups.backup import make_backup


class Command(BaseCommand):
    help = (
        "Write the database, the market's keys, the ledger's anchors and, if it is named, the registry of images into a new "
        "folder, which only its owner may read. It holds secrets: keep it as safe as the market itself."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to", type=Path, required=True, metavar="FOLDER", help="a folder for backups; each gets its own"
        )
        parser.add_argument("--registry", type=Path, metavar="FOLDER", help="where the registry keeps its files")

    def handle(self, *args: Any, **options: Any) -> None:
        registry = options["registry"]
        if registry is not None and not registry.is_dir():
            raise CommandError(f"{registry} is no folder.")
        try:
            if restore_is_unfinished():
                raise CommandError(TOLD)
            made = make_backup(parent=options["to"].absolute(), registry=registry)
        except (NoBackup, ClientFailed, OSError) as error:
            raise CommandError(f"{error} Nothing of this backup is left.") from error
        except DatabaseFailed as error:
            raise CommandError(f"The database does not answer: {one_line(error)} Nothing was written.") from error
        manifest = read_manifest(made)
        size = sum(file["bytes"] for file in manifest.files.values())
        self.stdout.write(f"{made}: {len(manifest.files)} files, {size / 1e6:.1f} MB. Not in it:")
        for line in manifest.missing:
            self.stdout.write(f"  {line}")
