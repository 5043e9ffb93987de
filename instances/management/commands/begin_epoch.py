"""`manage.py begin_epoch`: start a new epoch after a failover, or a restore by other means."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common.errors import InvalidInput
from instances.epochs.services import begin_epoch


class Command(BaseCommand):
    help = (
        "Begin a new epoch: after a failover to a copy that lacks the last commits, or a restore by other means than "
        "`restore`. No host is rented out before its agent has told what it holds, and no money leaves the market before "
        "Stripe and the ledger agree."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", required=True, help="what happened, for the staff panel")
        parser.add_argument(
            "--above",
            type=int,
            default=0,
            metavar="NUMBER",
            help="an epoch that agents have accepted already, by an incident",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["reason"].strip():
            raise CommandError("Say what happened: it stands in the staff panel.")
        try:
            number = begin_epoch(reason=options["reason"].strip(), above=options["above"])
        except InvalidInput as error:
            raise CommandError(str(error.detail)) from error
        self.stdout.write(f"Epoch {number} has begun. Follow it in the staff panel under Epochs.")
