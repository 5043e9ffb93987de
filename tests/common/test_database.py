"""Transactions of use cases: outermost, joined only on purpose, never waiting for ever."""

import pytest
from django.db import OperationalError, connection, transaction

from accounts.models import User
from common.db.transactions import joining, use_case
from common.errors import DomainError


@pytest.mark.django_db(transaction=True)
def test_a_use_case_must_be_the_outermost_transaction() -> None:
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"), use_case():
        pass


@pytest.mark.django_db(transaction=True)
def test_a_use_case_within_another_is_refused() -> None:
    with use_case(), pytest.raises(RuntimeError, match="durable"), use_case():
        pass


@pytest.mark.django_db(transaction=True)
def test_joined_use_cases_stand_and_fall_together() -> None:
    def work() -> None:
        with use_case():
            User.objects.create_user("first@example.com")
        with use_case():
            User.objects.create_user("second@example.com")

    with pytest.raises(DomainError), joining():
        work()
        raise DomainError
    assert not User.objects.exists()
    with joining():
        work()
    assert User.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_after_joining_use_cases_are_outermost_again() -> None:
    with pytest.raises(DomainError), joining():
        raise DomainError
    with transaction.atomic(), pytest.raises(RuntimeError), use_case():
        pass


@pytest.mark.django_db(transaction=True)
def test_a_lock_is_not_waited_for_for_ever() -> None:
    """Five seconds, by the settings of every session."""
    user = User.objects.create_user("locked@example.com")
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM accounts_user WHERE id = %s FOR UPDATE", [user.pk])
        with pytest.raises(OperationalError, match="lock timeout"), use_case():
            User.objects.filter(pk=user.pk).update(display_name="x")
    finally:
        other.rollback()
        other.close()


def test_inside_a_tests_own_transaction_a_failed_use_case_is_undone_alone(alice: User) -> None:
    with pytest.raises(DomainError), use_case():
        User.objects.filter(pk=alice.pk).update(display_name="x")
        raise DomainError
    assert User.objects.get(pk=alice.pk).display_name == "Alice"
