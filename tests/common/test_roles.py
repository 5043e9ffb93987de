"""The role that the market works with: it has what each table needs, and nothing with which a wall could be taken down."""

from collections.abc import Iterator

import psycopg2
import pytest
from django.apps import apps
from django.db import connection
from django.db.utils import ProgrammingError

from common.db.roles import RoleRefused, grant_role
from tests.roles import as_owner
from tests.services_plugin import APP_ROLE

pytestmark = pytest.mark.django_db(transaction=True)

APPEND_ONLY = ["posting", "entry", "usage", "seal", "invoice", "record", "ledgeraudit", "ledgercurrency"]
KEPT = [
    *("wallet", "hold", "meter", "order", "payment", "refund", "dispute", "payout", "grant", "moneyfreeze", "holdback"),
    *("coupon", "couponcode", "coupondraw", "tie"),
]
FORBIDDEN = [
    *(f"TRUNCATE billing_{name} CASCADE" for name in (*APPEND_ONLY, *KEPT)),
    *(f"ALTER TABLE billing_{name} DISABLE TRIGGER ALL" for name in (*APPEND_ONLY, *KEPT)),
    *(
        f"UPDATE billing_{name} SET id = id"
        for name in ("posting", "entry", "usage", "invoice", "record", "ledgeraudit", "ledgercurrency")
    ),
    "UPDATE billing_seal SET head = body",
    *(f"DELETE FROM billing_{name}" for name in (*APPEND_ONLY, *KEPT)),
    "INSERT INTO billing_record (subject, subject_id, content, at) VALUES ('x', gen_random_uuid(), '{}', now())",
    "SELECT nextval('billing_record_id_seq')",
    "SELECT setval('billing_posting_id_seq', 1)",
    "SET session_replication_role = replica",
    "DROP TRIGGER meter_keeps_its_terms ON billing_meter",
    "ALTER TABLE billing_wallet DROP CONSTRAINT wallet_never_overspent",
    "CREATE OR REPLACE FUNCTION billing_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TABLE mine (id int)",
    "CREATE TEMP TABLE billing_entry (id int)",
    "CREATE SCHEMA mine",
    "DELETE FROM django_migrations",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "CREATE ROLE other",
    "ALTER DATABASE postgres SET session_replication_role = replica",
    "COPY billing_posting TO '/tmp/ledger'",
]

DECISIONS = {"accounts_accountevent", "marketplace_hostwriteoff", "instances_faultreport"}


@pytest.fixture
def market() -> Iterator[psycopg2.extensions.cursor]:
    """Logged in as the market, not as an owner who has put on its role: `RESET ROLE` leads nowhere from here."""
    with as_owner():
        grant_role(f"postgresql://{APP_ROLE}:@/x")  # a database's own rights are not copied with it
    known = {name: connection.get_connection_params()[name] for name in ("host", "port", "dbname")
             if connection.get_connection_params().get(name)}  # fmt: skip
    session = psycopg2.connect(user=APP_ROLE, **known)
    session.autocommit = True
    yield session.cursor()
    session.close()


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_market_cannot(market: psycopg2.extensions.cursor, statement: str) -> None:
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        market.execute(statement)


def test_the_market_reads_and_writes_every_table_that_a_model_has(market: psycopg2.extensions.cursor) -> None:
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    limited = {f"billing_{name}" for name in (*APPEND_ONLY, *KEPT)} | DECISIONS
    assert limited < tables
    for table in sorted(tables):
        market.execute(f"SELECT FROM {table} LIMIT 1")
        rights = ["INSERT"] if table in limited else ["INSERT", "UPDATE", "DELETE"]
        if table == "billing_record":
            rights = []
        for right in rights:
            market.execute("SELECT has_table_privilege(%s, %s)", [table, right])
            assert market.fetchone() == (True,), f"{right} on {table}"
    market.execute(
        "SELECT sequencename FROM pg_sequences WHERE NOT has_sequence_privilege(quote_ident(sequencename), 'USAGE')"
    )
    assert market.fetchall() == [("billing_record_id_seq",)]


def test_what_only_changes_lawfully_may_still_change(market: psycopg2.extensions.cursor) -> None:
    for name in KEPT:
        market.execute("SELECT has_table_privilege(%s, 'UPDATE')", [f"billing_{name}"])
        assert market.fetchone() == (True,), name


def test_the_market_owns_nothing(market: psycopg2.extensions.cursor) -> None:
    market.execute("SELECT relname FROM pg_class WHERE pg_get_userbyid(relowner) = current_user")
    assert market.fetchall() == []
    market.execute("SELECT proname FROM pg_proc WHERE pg_get_userbyid(proowner) = current_user")
    assert market.fetchall() == []


def test_a_table_that_comes_later_is_the_markets_too(market: psycopg2.extensions.cursor) -> None:
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE later (id bigserial PRIMARY KEY, word text)")
    try:
        market.execute("INSERT INTO later (word) VALUES ('a')")
        market.execute("UPDATE later SET word = 'b'")
        market.execute("DELETE FROM later")
    finally:
        with as_owner(), connection.cursor() as cursor:
            cursor.execute("DROP TABLE later")


def test_granting_again_changes_nothing(market: psycopg2.extensions.cursor) -> None:
    with as_owner():
        assert grant_role(f"postgresql://{APP_ROLE}:secret@/x") == APP_ROLE
    market.execute("SELECT has_table_privilege('billing_wallet', 'UPDATE')")
    assert market.fetchone() == (True,)


@pytest.mark.parametrize("role", ["postgres", ""])
def test_a_role_that_could_do_more_is_refused(role: str) -> None:
    with as_owner(), pytest.raises(RoleRefused):
        grant_role(f"postgresql://{role}:x@/x" if role else "postgresql:///x")


def test_a_role_that_may_make_roles_is_refused() -> None:
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("CREATE ROLE mighty CREATEROLE")
        try:
            with pytest.raises(RoleRefused, match="superuser"):
                grant_role("postgresql://mighty:x@/x")
        finally:
            cursor.execute("DROP ROLE mighty")


def test_a_new_role_gets_its_password_and_the_market_may_not_make_one() -> None:
    with pytest.raises(ProgrammingError, match="permission denied"):
        grant_role("postgresql://fresh:secret@/x")
    with as_owner(), connection.cursor() as cursor:
        try:
            grant_role("postgresql://fresh:secret@/x")
            cursor.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'fresh'")
            assert cursor.fetchone()[0].startswith("SCRAM-SHA-256$")
        finally:
            cursor.execute("DROP OWNED BY fresh")
            cursor.execute("DROP ROLE fresh")
