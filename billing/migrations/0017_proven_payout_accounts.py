"""One name for each payout account however it was written, and which of them are proven."""

import re
import unicodedata
from datetime import datetime
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Q

_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]*")


def identity(stripe_account_id: str, iban: str, bank: str) -> str:
    """`Destination.identity` as it is at this migration."""
    if stripe_account_id:
        return stripe_account_id
    number = "".join(iban.split()).replace("-", "").upper()
    if not number or _IBAN.fullmatch(number):
        return number
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", bank).casefold())
    return f"{number} {''.join(letter for letter in plain if letter.isalnum())}".strip()[:200]


def identify(apps: Apps, schema_editor: BaseDatabaseSchemaEditor | None) -> None:
    """Ties get the new name; accounts and payouts from before there were ties get theirs, with the time they are from."""
    tie = apps.get_model("billing", "Tie")
    seen: dict[tuple[Any, str], datetime] = {}
    proven: dict[tuple[Any, str], datetime] = {}

    def note(owner: Any, value: str, at: datetime, book: dict[tuple[Any, str], datetime] = seen) -> None:
        if value:
            book[owner, value] = min(at, book.get((owner, value), at))

    for owner, value, at in tie.objects.filter(kind="payout").values_list("owner_id", "value", "seen_at"):
        note(owner, _of_tie(value), at)
    for row in apps.get_model("billing", "PayoutAccount").objects.all():
        note(row.pk, identity(row.stripe_account_id, row.iban, row.bank), row.changed_at)
    for row in apps.get_model("billing", "Payout").objects.all():
        where = {name: str(row.destination.get(name, "")) for name in ("stripe_account_id", "iban", "bank")}
        note(row.owner_id, identity(**where), row.created_at)
        if row.state == "paid":
            note(row.owner_id, identity(**where), row.settled_at or row.created_at, proven)
    for row in apps.get_model("billing", "ConnectedAccount").objects.filter(is_ready=True):
        note(row.pk, row.account_id, row.checked_at)
        note(row.pk, row.account_id, row.checked_at, proven)
    tie.objects.filter(kind="payout").delete()
    tie.objects.bulk_create(
        tie(owner_id=owner, kind="payout", value=value, seen_at=at, proven_at=proven.get((owner, value)))
        for (owner, value), at in sorted(seen.items(), key=lambda item: item[1])
    )


def _of_tie(value: str) -> str:
    """Until now the number, then a space and the bank, if there was one."""
    number, _, bank = value.partition(" ")
    return identity(number, "", "") if number.startswith("acct_") else identity("", number, bank)


class Migration(migrations.Migration):
    dependencies = [("billing", "0016_mail_in_the_outbox")]

    operations = [
        migrations.AddField(
            model_name="tie",
            name="proven_at",
            field=models.DateTimeField(
                help_text="Since when a payout of the user has arrived there, or Stripe says that their account is ready.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="tie",
            constraint=models.CheckConstraint(
                condition=Q(proven_at=None) | Q(kind="payout"), name="tie_proven_by_a_payout"
            ),
        ),
        migrations.RunPython(identify, migrations.RunPython.noop),
    ]
