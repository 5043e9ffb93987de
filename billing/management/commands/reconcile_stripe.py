"""`manage.py reconcile_stripe` compares the ledger with Stripe now.

It exits with status 1 on a difference that cannot be repaired.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from billing.payments.reconcile_stripe import request_reconciliation, run_reconciliation


class Command(BaseCommand):
    help = "Compare the ledger with Stripe and heal what no delivery has told. Exit status 1 when something still differs."

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = request_reconciliation(actor="command")
        done = run_reconciliation(reconciliation_id=wanted.pk)
        if done.failure:
            raise CommandError(done.failure)
        self.stdout.write(
            f"{done.since:%Y-%m-%d %H:%M} – {done.until:%Y-%m-%d %H:%M}: looked at {done.seen}, healed {done.healed}"
        )
        for finding in done.findings:
            self.stdout.write(str(finding))
        if done.findings:
            plural = "" if len(done.findings) == 1 else "s"
            raise CommandError(f"Stripe and the ledger do not agree: {len(done.findings)} difference{plural}.")
