"""Hints leave after the commit, never after a rollback, and their loss is survived."""

import pytest
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from common import jobs
from common.errors import DomainError


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    calls: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, args, retry: calls.append((name, args)))
    return calls


@pytest.mark.django_db(transaction=True)
def test_a_hint_leaves_after_the_commit(sent: list[tuple[str, tuple[str, ...]]]) -> None:
    with transaction.atomic():
        jobs.enqueue("app.task", "1", "2")
        assert sent == []
    assert sent == [("app.task", ("1", "2"))]


@pytest.mark.django_db(transaction=True)
def test_a_rollback_sends_nothing(sent: list[tuple[str, tuple[str, ...]]]) -> None:
    with pytest.raises(DomainError), transaction.atomic():
        jobs.enqueue("app.task", "1")
        raise DomainError
    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_a_dead_broker_does_not_fail_the_request(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(name: str, args: tuple[str, ...], retry: bool) -> None:
        raise OperationalError("no broker")

    monkeypatch.setattr(current_app, "send_task", refuse)
    jobs.enqueue("app.task", "1")
    assert "its sweep will do the work" in caplog.text
