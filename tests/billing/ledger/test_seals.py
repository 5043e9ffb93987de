"""Seals: a chain over all that was posted, that a change behind the triggers breaks, and that a script can recompute."""

import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from threading import Event, Thread

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection, transaction
from django.db.utils import IntegrityError

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.errors import LedgerIsAppendOnly
from billing.ledger import seals
from billing.ledger.seals import seal_ledger, seal_of
from billing.ledger.wallets import grant_credit, open_wallet
from billing.models import Entry, Posting, Seal, Wallet
from tests.billing.money import START, UNIT, Source, assert_sound, at, execute, grant, in_parallel, settle, triggers_off
from tests.roles import as_owner

SCRIPT = Path(__file__).parents[3] / "scripts" / "verify_seals.py"
NOW = at(hours=2, seconds=100)


@pytest.fixture
def books(db: None, alice: User, hana: User) -> Source:
    """Two hours of use and a memo with everything that JSON escapes."""
    grant(alice, 1000 * UNIT)
    memo = 'quotes " and \\ and\nnew lines,\ttabs, 中文, \x7f, é'
    grant_credit(owner_id=alice.pk, amount_micros=5, actor="test", key="odd", memo=memo)
    source = Source(alice, hana).start()
    source.run(START, NOW)
    settle(NOW)
    return source


def of_nothing(posting: Posting, user: User) -> None:
    """Entries that move nothing, so that the posting is complete."""
    sides = (Wallet.objects.get(owner=user, kind="renter"), open_wallet(owner_id=None, kind="escrow"))
    Entry.objects.bulk_create(Entry(posting=posting, wallet=side, kind="prepaid", amount_micros=0) for side in sides)


def codes() -> list[str]:
    with time_machine.travel(NOW, tick=False):
        return [finding.code for finding in ledger_findings()]


def seal() -> Seal | None:
    with time_machine.travel(NOW, tick=False):
        return seal_ledger()


def export(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What the script says that knows nothing of Berth."""
    file = tmp_path / "ledger.jsonl"
    call_command("export_ledger", file, stdout=StringIO())
    return subprocess.run([sys.executable, "-I", SCRIPT, file], capture_output=True, text=True, check=False)


def test_everything_posted_is_sealed_once_and_in_order(books: Source, alice: User) -> None:
    first = seal()
    assert first is not None
    assert (first.number, first.after, first.previous) == (1, 0, "0" * 64)
    assert (first.postings, first.usage_rows) == (Posting.objects.count(), 2)
    assert seal() is None  # nothing new
    grant(alice, UNIT)
    second = seal()
    assert second is not None
    assert (second.number, second.after, second.previous, second.postings) == (2, first.upto, first.head, 1)
    assert seal_of(second.upto) == second and seal_of(first.upto) == first and seal_of(second.upto + 1) is None
    assert_sound(NOW)


def test_a_script_with_nothing_but_python_recomputes_the_head(books: Source, alice: User, tmp_path: Path) -> None:
    seal()
    grant(alice, UNIT)
    last = seal()
    assert last is not None
    done = export(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"2 seals, postings up to {last.upto}, head {last.head}\n"


A_SEALED = "(SELECT min(id) FROM billing_posting WHERE kind = 'usage')"
TAMPERING = {
    "a memo": "UPDATE billing_posting SET memo = 'nothing' WHERE kind = 'grant' AND memo LIKE 'quotes%%'",
    "when it was booked": f"UPDATE billing_posting SET created_at = created_at + interval '1 us' WHERE id = {A_SEALED}",
    "an amount": "UPDATE billing_entry SET amount_micros = amount_micros + 1 WHERE kind = 'charge'",
    "two amounts that stay balanced": "UPDATE billing_entry SET amount_micros = amount_micros + CASE kind WHEN 'charge'"
    " THEN -5 ELSE 5 END WHERE kind IN ('charge', 'host_share')",
    "a price": "UPDATE billing_usage SET rate_micros = rate_micros + 1",
    "a period": "UPDATE billing_usage SET period_to = period_to + interval '1 us'",
    "a row taken away": "DELETE FROM billing_usage WHERE id = (SELECT max(id) FROM billing_usage)",
    "a seal's time": "UPDATE billing_seal SET sealed_at = sealed_at - interval '1 hour' WHERE number = 1",
    "a seal taken away": "DELETE FROM billing_seal WHERE number = 1",
}


@pytest.mark.parametrize("change", TAMPERING.values(), ids=TAMPERING.keys())
def test_a_change_behind_the_triggers_is_found(books: Source, alice: User, change: str, tmp_path: Path) -> None:
    seal()
    grant(alice, UNIT)
    seal()
    assert codes() == []
    with triggers_off():
        execute(change)
    assert "I09" in codes()
    assert export(tmp_path).returncode == 1


def test_a_posting_slipped_in_among_sealed_ones_is_found(books: Source, alice: User, tmp_path: Path) -> None:
    execute("SELECT nextval('billing_posting_id_seq')")
    grant(alice, UNIT)
    seal()
    free = Posting.objects.order_by("-id").values_list("id", flat=True)[0] - 1
    late = Posting.objects.create(
        id=free, idempotency_key="late", kind="term", source_kind="term", source_id=alice.pk, memo="", actor="mallory"
    )
    of_nothing(late, alice)
    assert codes() == ["I09"]
    assert export(tmp_path).returncode == 1


def test_the_whole_chain_written_anew_ends_in_another_head(books: Source) -> None:
    """Who can rewrite rows and seals too makes a chain that holds; but its head is not the one that was published."""
    published = seal()
    assert published is not None
    with triggers_off():
        execute("UPDATE billing_posting SET memo = 'nothing' WHERE memo LIKE 'quotes%%'")
        execute("DELETE FROM billing_seal")
    forged = seal()
    assert forged is not None and codes() == []
    assert forged.head != published.head


def test_seals_are_append_only(books: Source) -> None:
    sealed = seal()
    assert sealed is not None
    with pytest.raises(LedgerIsAppendOnly):
        sealed.save()
    with as_owner(), pytest.raises(IntegrityError), transaction.atomic():
        execute("UPDATE billing_seal SET body = head")


@pytest.mark.django_db(transaction=True)
def test_nothing_slips_in_behind_a_seal(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A posting with a lower number that commits later is waited for, or the seal waits for the next sweep."""
    grant(alice, UNIT)
    written, may_commit = Event(), Event()

    def slow() -> None:
        try:
            with transaction.atomic():
                posting = Posting.objects.create(
                    idempotency_key="slow", kind="term", source_kind="term", source_id=alice.pk, memo="", actor="slow"
                )
                of_nothing(posting, alice)
                written.set()
                may_commit.wait(30)
        finally:
            connection.close()

    writer = Thread(target=slow)
    writer.start()
    assert written.wait(30)
    grant(alice, UNIT)  # a higher number, committed before
    monkeypatch.setattr(seals, "WAIT_S", 0.2)
    assert seal_ledger() is None
    monkeypatch.setattr(seals, "WAIT_S", 30.0)
    sealing: list[Seal | None] = []

    def seal_late() -> None:
        sealing.append(seal_ledger())
        connection.close()

    sealer = Thread(target=seal_late)
    sealer.start()
    may_commit.set()
    writer.join()
    sealer.join()
    (sealed,) = sealing
    assert sealed is not None and sealed.postings == 3


@pytest.mark.django_db(transaction=True)
def test_many_sealers_and_writers_at_once_make_one_chain(alice: User) -> None:
    grant(alice, UNIT)
    works: list[Callable[[], object]] = [lambda: [seal_ledger() for _ in range(5)]] * 4

    def grants() -> None:
        for _ in range(20):
            grant(alice, UNIT)

    works += [grants] * 4
    results = in_parallel(works)
    assert not [result for result in results if isinstance(result, Exception)], results
    seal_ledger()
    assert sum(seal.postings for seal in Seal.objects.all()) == Posting.objects.count() == 81
    assert_sound()
