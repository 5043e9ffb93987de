"""An operation on the wire: named until its end is told, taken in once, and only from its own host."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from accounts.models import User
from agents.protocol.messages import ObservedOperation
from common import clock
from common.encryption import CannotDecrypt, decrypt, encrypt
from instances.host_reports.operation_results import apply_results
from storage.models import Operation
from storage.operations.services import cancel_operations, fail_overdue, request_operation

from .conftest import Agent, report

pytestmark = pytest.mark.django_db


def ask(host: UUID, owner: User, kind: str = "snapshot") -> Operation:
    return request_operation(
        host_id=host,
        owner_id=owner.pk,
        kind=kind,
        subject=uuid4(),
        args={"volume": "v"},
        secrets={"password": "s3cret"},
        within=timedelta(minutes=5),
    )


def tell(operation: Operation, phase: str, **more: object) -> ObservedOperation:
    return ObservedOperation(operation.pk.hex, phase, **more)  # type: ignore[arg-type]  # each test's own fields


def test_it_is_named_until_its_end_is_told(agent: Agent, alice: User) -> None:
    operation = ask(agent.host, alice)
    assert "s3cret" not in operation.sealed_args
    (order,) = agent.sync().operations
    assert (order.id, order.kind, order.args) == (operation.pk.hex, "snapshot", {"volume": "v", "password": "s3cret"})
    answer = agent.sync(report(operations=[tell(operation, "running", done_bytes=5, total_bytes=9, detail="Copying.")]))
    assert [order.id for order in answer.operations] == [operation.pk.hex]
    operation.refresh_from_db()
    assert (operation.state, operation.done_bytes, operation.detail) == ("running", 5, "Copying")
    end = tell(operation, "done", done_bytes=9, total_bytes=9, outcome={"checksum": "f00"})
    assert agent.sync(report(operations=[end])).operations == []
    operation.refresh_from_db()
    assert (operation.state, operation.outcome, operation.done_bytes) == ("done", {"checksum": "f00"}, 9)
    assert operation.concluded_at is not None


def test_secrets_are_sent_to_an_agent_that_does_not_have_them(agent: Agent, alice: User) -> None:
    operation, whole, bare = ask(agent.host, alice), {"volume": "v", "password": "s3cret"}, {"volume": "v"}

    def sent_arguments(*reported: ObservedOperation) -> list[dict[str, str]]:
        return [order.args for order in agent.sync(report(operations=list(reported))).operations]

    assert [sent_arguments(), sent_arguments()] == [[whole], [whole]], "an answer may be lost"
    for _ in range(2):
        assert sent_arguments(tell(operation, "running")) == [bare]
    assert sent_arguments() == [whole], "an agent that restarted begins it again"
    assert sent_arguments(tell(operation, "running")) == [bare]


def test_a_command_that_has_begun_is_not_sent_again(agent: Agent, alice: User) -> None:
    """It runs at most once: also an agent that has lost its records must not begin it again."""
    operation = ask(agent.host, alice, "run_command")
    assert [order.args.get("password") for order in agent.sync().operations] == ["s3cret"]
    assert [order.args.get("password") for order in agent.sync().operations] == ["s3cret"]
    agent.sync(report(operations=[tell(operation, "running")]))
    (order,) = agent.sync().operations
    assert (order.id, order.args) == (operation.pk.hex, {"volume": "v"})


def test_an_end_that_comes_twice_or_late_changes_nothing(agent: Agent, alice: User) -> None:
    operation = ask(agent.host, alice)
    assert cancel_operations(subject=operation.subject, reason="cancelled") == 1
    assert cancel_operations(subject=operation.subject, reason="cancelled") == 0
    assert agent.sync(report(operations=[tell(operation, "done")])).operations == []
    operation.refresh_from_db()
    assert operation.state == "cancelled"


def test_another_host_cannot_end_it(enrolled: Callable[[], Agent], agent: Agent, alice: User) -> None:
    operation = ask(agent.host, alice)
    enrolled().sync(report(operations=[tell(operation, "done")]))
    operation.refresh_from_db()
    assert operation.state == "waiting"


def test_what_takes_too_long_is_given_up(agent: Agent, alice: User) -> None:
    operation = ask(agent.host, alice)
    assert fail_overdue(now=clock.now()) == 0
    assert fail_overdue(now=clock.now() + timedelta(minutes=5)) == 1
    operation.refresh_from_db()
    assert (operation.state, operation.failure_code) == ("failed", "out_of_time")
    assert apply_results() == 1
    assert apply_results() == 0


def test_a_sealed_text_opens_under_its_own_key_alone(settings: object) -> None:
    sealed = encrypt("s3cret")
    assert decrypt(sealed) == "s3cret"
    settings.SECRET_KEY = "another"  # type: ignore[attr-defined]  # pytest-django's fixture
    with pytest.raises(CannotDecrypt):
        decrypt(sealed)
