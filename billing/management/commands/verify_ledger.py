"""`manage.py verify_ledger`: checks every invariant of the ledger; exit status 1 when one does not hold."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from billing.selectors import ledger_findings


class Command(BaseCommand):
    help = "Check every invariant of the ledger. Exit status 1 when one does not hold."

    def handle(self, *args: Any, **options: Any) -> None:
        findings = ledger_findings()
        for finding in findings:
            self.stdout.write(str(finding))
        if findings:
            raise CommandError(f"The ledger does not hold: {len(findings)} findings.")
        self.stdout.write("The ledger holds.")
