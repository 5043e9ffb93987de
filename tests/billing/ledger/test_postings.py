"""The ledger's writer and its walls: balanced, append-only, one posting for each key."""

import uuid

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.errors import LedgerIsAppendOnly
from billing.ledger.postings import Movement, post
from billing.ledger.wallets import open_wallet
from billing.models import Entry, Posting, Wallet
from tests.billing.money import START, execute, grant, triggers_off, wallet
from tests.roles import as_owner


def write(key: str, *movements: Movement) -> bool:
    with transaction.atomic():
        return post(
            key=key,
            kind=Posting.Kind.TRANSFER,
            source_kind="grant",
            source_id=uuid.uuid4(),
            memo="by hand",
            actor="test",
            movements=movements,
            at=START,
        )


def sides(user: User) -> tuple[Wallet, Wallet]:
    return open_wallet(owner_id=user.pk), open_wallet(owner_id=None, kind="funding")


@pytest.mark.django_db
def test_a_posting_moves_every_wallet_it_names(alice: User) -> None:
    renter, funding = sides(alice)
    assert write("a", Movement(renter.pk, Entry.Kind.CREDIT, 50), Movement(funding.pk, Entry.Kind.FUNDING, -50))
    renter.refresh_from_db()
    funding.refresh_from_db()
    assert (renter.balance_micros, funding.balance_micros) == (50, -50)
    assert {finding.code for finding in ledger_findings()} == {"I35"}, "no transfer moves that; all else is sound"


@pytest.mark.django_db
def test_the_same_key_writes_nothing_again(alice: User) -> None:
    renter, funding = sides(alice)
    movements = (Movement(renter.pk, Entry.Kind.CREDIT, 50), Movement(funding.pk, Entry.Kind.FUNDING, -50))
    assert write("a", *movements)
    assert not write("a", *movements)
    assert Posting.objects.count() == 1
    assert wallet(alice).balance_micros == 50


@pytest.mark.django_db
def test_a_posting_never_overdraws_a_renter(alice: User) -> None:
    renter, funding = sides(alice)
    with pytest.raises(IntegrityError, match="wallet_never_overspent"):
        write("a", Movement(renter.pk, Entry.Kind.CREDIT, -1), Movement(funding.pk, Entry.Kind.FUNDING, 1))


@pytest.mark.django_db(transaction=True)
def test_fault_070_a_posting_that_does_not_add_up_is_refused_at_commit_and_leaves_nothing(alice: User) -> None:
    renter, funding = sides(alice)
    with pytest.raises(IntegrityError, match="do not add up to zero"), transaction.atomic():
        written = post(
            key="a",
            kind=Posting.Kind.TRANSFER,
            source_kind="grant",
            source_id=renter.pk,
            memo="",
            actor="test",
            movements=[Movement(renter.pk, Entry.Kind.CREDIT, 50), Movement(funding.pk, Entry.Kind.FUNDING, -49)],
            at=START,
        )
        assert written
        assert Entry.objects.count() == 2  # inside the transaction it stood; the commit refused it
    assert (Posting.objects.count(), Entry.objects.count(), wallet(alice).balance_micros) == (0, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_an_entry_slipped_into_an_old_posting_is_refused(alice: User) -> None:
    grant(alice, 50)
    posting = Posting.objects.get()
    with pytest.raises(IntegrityError, match="do not add up to zero"):
        Entry.objects.create(posting=posting, wallet=wallet(alice), kind=Entry.Kind.CREDIT, amount_micros=1)
    assert Entry.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE billing_entry SET amount_micros = 0",
        "DELETE FROM billing_entry",
        "UPDATE billing_posting SET memo = 'x'",
        "DELETE FROM billing_posting",
    ],
)
def test_rows_of_the_ledger_cannot_be_changed_or_deleted(alice: User, statement: str) -> None:
    grant(alice, 50)
    with as_owner(), pytest.raises(IntegrityError, match="is append-only"), transaction.atomic():
        execute(statement)
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        execute(statement)
    assert sorted(Entry.objects.values_list("amount_micros", flat=True)) == [-50, 50]


@pytest.mark.django_db
def test_fault_070_with_the_triggers_down_it_is_written_and_the_audit_names_it(alice: User) -> None:
    """The paired test."""
    grant(alice, 50)
    with triggers_off():
        execute("UPDATE billing_entry SET amount_micros = amount_micros - 1 WHERE amount_micros > 0")
    assert "I01" in {finding.code for finding in ledger_findings()}


@pytest.mark.django_db
def test_with_the_triggers_down_the_same_change_goes_through(alice: User) -> None:
    grant(alice, 50)
    with triggers_off():
        execute("UPDATE billing_entry SET amount_micros = 0")
    assert set(Entry.objects.values_list("amount_micros", flat=True)) == {0}
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('session_replication_role')")
        assert cursor.fetchone() == ("origin",)


@pytest.mark.django_db
def test_the_models_refuse_too(alice: User) -> None:
    grant(alice, 50)
    for row in (Posting.objects.get(), Entry.objects.first()):
        assert row is not None
        with pytest.raises(LedgerIsAppendOnly):
            row.save()
        with pytest.raises(LedgerIsAppendOnly):
            row.delete()
    with as_owner(), pytest.raises(IntegrityError, match="is append-only"), transaction.atomic():
        Entry.objects.all().update(amount_micros=1)
