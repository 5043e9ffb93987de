"""`manage.py verify_ledger` checks every invariant of the ledger; exit status 1 when one fails."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from billing.audit.selectors import all_findings
from billing.ledger.anchor_selectors import head_findings

_HEAD_DIGITS = 64


class Command(BaseCommand):
    help = (
        "Check every invariant of the ledger, its seals against the anchors outside the database, and what runs "
        "against what is metered. Exit status 1 when something does not hold."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--seal",
            metavar="NUMBER:HEAD",
            type=_seal,
            action="append",
            default=[],
            help="a seal that must be in the chain with this head, as a mail of the audit or the API told it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        findings = all_findings()
        for number, head in options["seal"]:
            findings += head_findings(number, head)
        for finding in findings:
            self.stdout.write(str(finding))
        if findings:
            raise CommandError(f"The ledger is inconsistent: {len(findings)} findings.")
        self.stdout.write("The ledger is consistent.")


def _seal(text: str) -> tuple[int, str]:
    number, _, head = text.partition(":")
    if not number.isdecimal() or len(head) != _HEAD_DIGITS:
        raise ArgumentTypeError(f"{text!r} is not NUMBER:HEAD, with a head of {_HEAD_DIGITS} hex digits")
    return int(number), head
