"""`manage.py lift_money_freeze` ends a freeze by hand, as an agreeing comparison with Stripe does."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from billing.ledger.freezes import lift_freeze


class Command(BaseCommand):
    help = (
        "Let payouts, refunds and automatic top-ups leave again after a restore: on a market without Stripe, or once the "
        "differences that `reconcile_stripe` names have been settled by hand."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", required=True, help="who has looked, and at what; it is kept")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["reason"].strip():
            raise CommandError("Enter who checked, and what.")
        if not lift_freeze(by=f"command: {options['reason'].strip()}"):
            raise CommandError("There is no freeze.")
        self.stdout.write("Money may leave again.")
