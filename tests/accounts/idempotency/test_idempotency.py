"""One key, one execution, one reply: in a row, in parallel, after failure."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.errors import IdempotencyConflict
from accounts.idempotency.services import run_and_roll_back, run_once
from accounts.models import ApiToken, RememberedReply, User
from accounts.tokens.services import issue_token
from common import jobs
from common.db.transactions import use_case
from common.errors import DomainError
from tests.roles import as_owner

HASH, OTHER_HASH = "a" * 64, "b" * 64


def make_token(user: User) -> tuple[int, Any]:
    """Toy work: a use case that writes one row."""
    token, _ = issue_token(user=user, name="made", scopes=["keys:read"])
    return 201, {"id": token.pk.hex, "scopes": token.scopes}


def test_without_a_key_the_work_runs_each_time(alice: User) -> None:
    replies = [run_once(user=alice, key=None, request_hash=HASH, work=lambda: make_token(alice)) for _ in range(2)]
    assert replies[0] != replies[1]
    assert ApiToken.objects.count() == 2
    assert not RememberedReply.objects.exists()


def test_the_second_call_gets_the_first_reply(alice: User) -> None:
    replies = [run_once(user=alice, key="k", request_hash=HASH, work=lambda: make_token(alice)) for _ in range(2)]
    assert replies[0] == replies[1]
    assert replies[0][0] == 201
    assert ApiToken.objects.count() == 1


def test_fault_002_same_key_other_body_is_refused_and_changes_nothing(alice: User) -> None:
    run_once(user=alice, key="k", request_hash=HASH, work=lambda: make_token(alice))
    with pytest.raises(IdempotencyConflict) as refusal:
        run_once(user=alice, key="k", request_hash=OTHER_HASH, work=lambda: make_token(alice))
    assert refusal.value.status == 422
    assert ApiToken.objects.count() == 1


def test_keys_of_two_users_do_not_meet(alice: User, bob: User) -> None:
    for user in (alice, bob):
        run_once(user=user, key="k", request_hash=HASH, work=partial(make_token, user))
    assert ApiToken.objects.count() == 2


def test_a_domain_error_leaves_the_key_free_and_writes_nothing(alice: User) -> None:
    def fails() -> tuple[int, Any]:
        make_token(alice)
        raise DomainError("no")

    with pytest.raises(DomainError, match="no"):
        run_once(user=alice, key="k", request_hash=HASH, work=fails)
    assert not ApiToken.objects.exists()
    assert not RememberedReply.objects.exists()
    status, _ = run_once(user=alice, key="k", request_hash=OTHER_HASH, work=lambda: make_token(alice))
    assert status == 201


def test_a_secret_is_shown_once_and_remembered_as_null(alice: User) -> None:
    def work() -> tuple[int, Any]:
        return 201, {"id": 7, "token": "secret"}

    first = run_once(user=alice, key="k", request_hash=HASH, work=work, once=("token",))
    second = run_once(user=alice, key="k", request_hash=HASH, work=work, once=("token",))
    assert first == (201, {"id": 7, "token": "secret"})
    assert second == (201, {"id": 7, "token": None})
    assert "secret" not in str(RememberedReply.objects.values_list("body", flat=True))


def test_a_rehearsal_checks_everything_and_keeps_nothing(
    alice: User, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    def work() -> tuple[int, Any]:
        with use_case():
            jobs.enqueue("some.task", "1")
            return make_token(alice)

    with django_capture_on_commit_callbacks() as hints:
        status, body = run_and_roll_back(work=work)
    assert (status, body["scopes"]) == (201, ["keys:read"])
    assert not ApiToken.objects.exists()
    assert hints == []


@pytest.mark.django_db(transaction=True)
def test_fault_001_fifty_threads_with_one_key_run_the_work_once() -> None:
    user = User.objects.create_user("parallel@example.com")
    runs: list[int] = []
    gate = threading.Barrier(50)

    def work() -> tuple[int, Any]:
        runs.append(1)
        return make_token(user)

    def ask(_: int) -> tuple[int, Any]:
        try:
            gate.wait(timeout=30)
            return run_once(user=user, key="k", request_hash=HASH, work=work)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=50) as pool:
        replies = list(pool.map(ask, range(50)))
    assert len(runs) == 1
    assert ApiToken.objects.count() == 1
    assert all(reply == replies[0] for reply in replies)


@pytest.mark.django_db(transaction=True)
def test_without_the_wall_ten_threads_all_run_it() -> None:
    """The paired test: look first, then do the work, without a key: each one finds nothing.

    The gate stands between the look and the work, so that the race is met in every run and not
    only where the threads happen to overlap.
    """
    user = User.objects.create_user("parallel@example.com")
    gate = threading.Barrier(10)

    def ask(_: int) -> None:
        try:
            unseen = not ApiToken.objects.filter(user=user).exists()
            gate.wait(timeout=30)
            if unseen:
                run_once(user=user, key=None, request_hash=HASH, work=lambda: make_token(user))
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=10) as pool:
        list(pool.map(ask, range(10)))
    assert ApiToken.objects.count() == 10


@pytest.mark.django_db(transaction=True)
def test_a_failure_lets_the_waiting_twin_do_the_work() -> None:
    user = User.objects.create_user("twin@example.com")
    inside, may_fail = threading.Event(), threading.Event()

    def fails_late() -> tuple[int, Any]:
        inside.set()
        assert may_fail.wait(timeout=10)
        raise DomainError("no")

    def first() -> str:
        try:
            run_once(user=user, key="k", request_hash=HASH, work=fails_late)
        except DomainError:
            return "failed"
        finally:
            connection.close()
        return "done"

    def second() -> int:
        try:
            assert inside.wait(timeout=10)
            return run_once(user=user, key="k", request_hash=HASH, work=lambda: make_token(user))[0]
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=2) as pool:
        losing, winning = pool.submit(first), pool.submit(second)
        assert inside.wait(timeout=10)
        _wait_for_a_blocked_backend()
        may_fail.set()
        assert (losing.result(), winning.result()) == ("failed", 201)
    assert ApiToken.objects.count() == 1


def _wait_for_a_blocked_backend() -> None:
    """Until PostgreSQL says that someone waits for a lock."""
    for _ in range(10_000):
        with as_owner(), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            if cursor.fetchone()[0]:
                return
    raise AssertionError("nobody waited for the key")
