"""`manage.py export_ledger FILE` writes the sealed ledger as text for scripts/verify_seals.py."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from billing.ledger.seals import sealed_lines


class Command(BaseCommand):
    help = (
        "Write every seal and every sealed row, one JSON array a line; scripts/verify_seals.py recomputes the chain from it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        count = 0
        with options["file"].open("w", encoding="utf-8", newline="\n") as file:
            for line in sealed_lines():
                file.write(f"{line}\n")
                count += 1
        self.stdout.write(f"{count} lines in {options['file']}.")
