"""Audits of the ledger: stored with what they found, each night and whenever staff ask."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client

from accounts.models import User
from billing.audit import selectors
from billing.audit.services import audit_ledger
from billing.ledger.checks import Check
from billing.ledger.seals import seal_ledger
from billing.models import LedgerAudit, Seal
from billing.tasks import seal_ledger as seal_task
from common import clock
from instances.enforcement.sweeps import audit_daily
from instances.enforcement.sweeps import audit_ledger as nightly
from marketplace.models import Incident
from tests.billing.money import UNIT, execute, grant

ADD = "/admin/billing/ledgeraudit/add/"


@pytest.fixture
def broken(alice: User) -> None:
    grant(alice, UNIT)
    seal_ledger()
    execute("UPDATE billing_wallet SET balance_micros = balance_micros + 7 WHERE kind = 'renter'")


def test_a_sound_ledger_is_noted_with_the_seal_that_it_had(alice: User) -> None:
    grant(alice, UNIT)
    seal_task()
    run, findings = audit_ledger(asked_by="test")
    assert (run.count, run.findings, findings) == (0, [], [])
    assert (run.seal_number, run.head) == (1, Seal.objects.get().head)


def test_the_night_stores_findings_and_opens_incidents(broken: None) -> None:
    assert nightly() > 0
    run = LedgerAudit.objects.get()
    assert run.asked_by == "nightly" and run.count == len(run.findings) == Incident.objects.count()
    assert run.findings[0]["code"] == "I03"


def test_it_is_daily_whenever_beat_begins(alice: User) -> None:
    grant(alice, UNIT)
    audit_ledger(asked_by="staff:x")
    begin, runs = clock.now(), []
    for hours in (0, 1, 23, 25, 26, 48):
        with time_machine.travel(begin + timedelta(hours=hours), tick=False):
            audit_daily(now=clock.now())
        runs.append(LedgerAudit.objects.filter(asked_by="nightly").count())
    assert runs == [1, 1, 1, 2, 2, 2], "however often it is asked for, and whatever staff asked for"


def test_staff_check_now_and_read_the_findings(broken: None, client: Client, stella: User) -> None:
    client.force_login(stella)
    reply = client.post(ADD, {})
    assert reply.status_code == 302, reply.content.decode()
    run = LedgerAudit.objects.get()
    assert run.asked_by == f"staff:{stella.pk.hex}" and run.count > 0
    page = client.get(f"/admin/billing/ledgeraudit/{run.pk}/change/").content.decode()
    assert "I03" in page and "balance" in page
    assert "finding" in client.get("/admin/billing/ledgeraudit/").content.decode()
    assert Seal.objects.get().head in client.get("/admin/billing/seal/").content.decode()


@pytest.mark.parametrize("who", ["alice", "hana"])
def test_nobody_else_may(who: str, request: pytest.FixtureRequest, client: Client) -> None:
    client.force_login(request.getfixturevalue(who))
    assert client.post(ADD, {}).status_code in (302, 403, 404)
    assert not LedgerAudit.objects.exists()


# -- longer than a statement of the jobs may take

SLOW = Check("I28", "slow", "SELECT 'record', 'seen' || pg_sleep(0.4)")


@pytest.fixture
def hurried(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection as that of the jobs, whose statements end after a time that the slow check does not keep."""
    monkeypatch.setattr(selectors, "RECORD_CHECKS", (SLOW,))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 200")


def test_the_night_is_not_cut_by_the_time_of_a_statement(hurried: None, alice: User) -> None:
    assert nightly() == 1
    assert [(one["code"], one["detail"]) for one in LedgerAudit.objects.get().findings] == [("I28", "seen")]
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("200ms",)


def test_a_check_that_does_not_end_is_a_finding_and_the_others_go_on(
    hurried: None, broken: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "_LEAST", timedelta(milliseconds=150))
    found = selectors.ledger_findings(timedelta(milliseconds=1))
    assert {finding.code for finding in found} == {"I03", "I28"}
    assert next(finding.detail for finding in found if finding.code == "I28") == "it did not end in its time"
