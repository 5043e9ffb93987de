"""Prepared statements give what the ORM gives, whatever the values, and refuse what they cannot carry."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import F, QuerySet
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiToken, User
from accounts.tokens.services import issue_token
from common import clock
from common.db.prepared import CHANGED, Prepared, batched_writes, insert, run, update, write
from common.errors import DomainError, StaleRow
from marketplace.models import Host, HostEvent, Lease, ReliabilityEvent
from marketplace.states import ReliabilityKind
from tests.marketplace.shapes import enrolled, leased, offer_of

HOSTS = Prepared(
    lambda owner_id, name: (
        Host.objects.filter(owner_id=owner_id, name=name).annotate(mail=F("owner__email")).defer("kernel").order_by("pk")
    ),
    owner_id=UUID,
    name=str,
)
TOKENS = Prepared(lambda name: ApiToken.objects.select_related("user").filter(name=name).order_by(), name=str)


def test_rows_equal_the_orms(hana: User) -> None:
    first, second = enrolled(hana, 2), enrolled(hana, 1)
    for host in (first, second):
        found = {row.pk: row for row in HOSTS.all(owner_id=host.owner_id, name=host.name)}[host.pk]
        assert found.warnings == host.warnings  # JSON is read, arrays are lists
        assert found.images == host.images
        assert found.mail == host.owner.email  # type: ignore[attr-defined]  # annotated
        assert "kernel" in found.get_deferred_fields()
    assert HOSTS.first(owner_id=uuid4(), name=first.name) is None


def test_related_rows_come_along(alice: User) -> None:
    issue_token(user=alice, name="ci", scopes=["instances:read"])
    assert TOKENS.first(name="nobody's") is None
    with CaptureQueriesContext(connection) as queries:
        token = TOKENS.first(name="ci")
        assert token is not None
        assert token.user == alice
    assert len(queries) == 1
    assert token.scopes == ["instances:read"]


def test_a_value_that_does_not_reach_the_statement_is_refused() -> None:
    def unused(owner_id: UUID, name: str) -> QuerySet[Host]:
        return Host.objects.filter(owner_id=owner_id)

    with pytest.raises(ValueError, match="name"):
        Prepared(unused, owner_id=UUID, name=str).all(owner_id=uuid4(), name="x")


def test_insert_writes_what_save_writes(hana: User) -> None:
    host = enrolled(hana, 1)
    insert(HostEvent(host=host, kind="by_insert", detail="x", actor="test"))
    HostEvent(host=host, kind="by_save", detail="x", actor="test").save()
    rows = HostEvent.objects.filter(host=host, kind__startswith="by_").order_by("id")
    assert [(row.kind, row.detail, row.actor) for row in rows] == [("by_insert", "x", "test"), ("by_save", "x", "test")]
    lease = leased(offer_of(host))
    copy = Lease.objects.get(gpu__uuid=lease.gpu_uuids[0])
    copy.pk, copy.released_at = uuid4(), copy.leased_at
    insert(copy)
    again = Lease.objects.get(pk=copy.pk)
    assert (again.leased_at, again.price_micros, again.holder) == (copy.leased_at, copy.price_micros, copy.holder)


def test_update_takes_the_row_that_fits_and_adds_to_its_generation(hana: User) -> None:
    host = enrolled(hana, 1)
    wanted: dict[str, object] = {"id": host.pk, "state": host.state, "generation": host.generation}
    update(Host, where=wanted, stale="never", state="frozen", warnings=["hot"])
    with pytest.raises(StaleRow, match="somebody was faster"):
        update(Host, where=wanted, stale="somebody was faster", state="online")
    host.refresh_from_db()
    assert (host.state, host.generation, host.warnings) == ("frozen", 1, ["hot"])


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_and_a_new_session_change_nothing() -> None:
    """What a session has prepared outlives its transactions; a new session prepares it anew."""

    def answer(number: int) -> int:
        with connection.cursor() as cursor:
            run(cursor, "SELECT %(number)s::int + 10 %% 4", {"number": number})
            return int(cursor.fetchone()[0])

    with pytest.raises(DomainError), transaction.atomic():
        assert answer(1) == 3
        raise DomainError
    assert answer(2) == 4
    connection.close()
    assert answer(3) == 5


def test_a_row_that_is_known_is_passed_over(hana: User) -> None:
    host, subject = enrolled(hana, 1), uuid4()

    def start() -> ReliabilityEvent:
        return ReliabilityEvent(host=host, kind=ReliabilityKind.STARTED, subject=subject, starts_at=clock.now())

    insert(start())
    insert(start(), unless_known=True)
    assert ReliabilityEvent.objects.filter(host=host).count() == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(start())


def event(host: Host, kind: str) -> HostEvent:
    return HostEvent(host=host, kind=kind, actor="test")


def test_what_is_written_together_is_one_statement(hana: User) -> None:
    host = enrolled(hana, 1)
    with CaptureQueriesContext(connection) as queries, batched_writes():
        insert(event(host, "one"))
        write("UPDATE marketplace_host SET name = %s WHERE id = %s", ["other", host.pk])
        with batched_writes():
            insert(event(host, "two"))
        assert not queries
    assert len(queries) == 1
    assert set(HostEvent.objects.filter(actor="test").values_list("kind", flat=True)) == {"one", "two"}
    assert Host.objects.get(pk=host.pk).name == "other"


def test_together_all_is_refused_or_nothing(hana: User) -> None:
    host = enrolled(hana, 1)
    with pytest.raises(DataError), transaction.atomic(), batched_writes():
        insert(event(host, "one"))
        insert(event(host, "longer than a column holds" * 2))
    with pytest.raises(DomainError), batched_writes():
        insert(event(host, "three"))
        raise DomainError
    with batched_writes():
        pass
    assert not HostEvent.objects.filter(actor="test").exists()
    insert(event(host, "four"))
    assert HostEvent.objects.filter(actor="test").count() == 1


def test_an_update_among_others_finds_its_row_or_all_is_taken_back(hana: User) -> None:
    host = enrolled(hana, 1)

    def freeze(generation: int) -> None:
        with transaction.atomic(), CaptureQueriesContext(connection) as queries, batched_writes():
            update(Host, where={"id": host.pk, "generation": generation}, stale="somebody was faster", state="frozen")
            insert(event(host, f"from {generation}"))
            assert not queries

    freeze(host.generation)
    with pytest.raises(StaleRow, match="somebody was faster"):
        freeze(host.generation)
    assert HostEvent.objects.get(actor="test").kind == f"from {host.generation}"
    host.refresh_from_db()
    assert (host.state, host.generation) == ("frozen", 1)


def test_what_waits_is_not_read_and_not_overtaken(hana: User) -> None:
    """By a query of the ORM's, by a prepared one, or by a write that does not wait; other tables are free."""
    host = enrolled(hana, 1)
    touches: list[Callable[[], object]] = [
        lambda: HostEvent.objects.filter(host=host).exists(),
        lambda: HostEvent.objects.create(host=host, kind="two", actor="test"),
        lambda: run(connection.cursor(), "SELECT count(*) FROM marketplace_hostevent", []),
    ]
    for touch in touches:
        with pytest.raises(RuntimeError, match="waits for its end"), transaction.atomic(), batched_writes():
            insert(event(host, "one"))
            touch()
    with batched_writes():
        insert(event(host, "one"))
        assert Host.objects.filter(pk=host.pk).exists()
    assert HostEvent.objects.filter(actor="test").count() == 1


RENAMED = Prepared(
    lambda pk: Host.objects.select_related("owner").filter(pk=pk).annotate(changed=CHANGED).order_by(),
    change="UPDATE marketplace_host SET name = %(name)s WHERE id = %(pk)s AND name <> %(name)s",
    pk=UUID,
)


def test_a_query_that_changes_first_tells_what_was_and_how_many(hana: User) -> None:
    host = enrolled(hana, 1)
    with CaptureQueriesContext(connection) as queries:
        before = RENAMED.first(pk=host.pk, name="new")
    assert len(queries) == 1
    assert before is not None
    assert (before.name, before.owner, before.changed) == (host.name, hana, 1)  # type: ignore[attr-defined]  # annotated
    again = RENAMED.first(pk=host.pk, name="new")
    assert again is not None
    assert (again.name, again.changed) == ("new", 0)  # type: ignore[attr-defined]  # annotated
    assert RENAMED.first(pk=uuid4(), name="new") is None
