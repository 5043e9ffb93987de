"""Tokens: their text, their rights, their end."""

import hashlib
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import constants
from accounts.errors import MissingScope, TooMany
from accounts.models import ApiToken, User
from accounts.selectors import live_token, tokens_of
from accounts.tokens.services import issue_token, record_use, revoke_token
from common import clock
from common.errors import InvalidInput, NotFound


def test_the_text_is_marked_and_only_its_hash_is_kept(alice: User) -> None:
    token, text = issue_token(user=alice, name="laptop", scopes=["keys:read"])
    mark, prefix, secret = text.split("_")
    assert (mark, prefix) == ("berth", token.prefix)
    assert token.secret_hash == hashlib.sha256(secret.encode()).hexdigest()
    row = ApiToken.objects.filter(pk=token.pk).values().get()
    assert secret not in str(row)


def test_scopes_are_kept_once_and_sorted(alice: User) -> None:
    token, _ = issue_token(user=alice, name="x", scopes=["keys:write", "keys:read", "keys:read"])
    assert token.scopes == ["keys:read", "keys:write"]


@pytest.mark.parametrize("scopes", [[], ["everything"], ["keys:read", "admin"]])
def test_scopes_must_be_known_and_not_empty(alice: User, scopes: list[str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        issue_token(user=alice, name="x", scopes=scopes)
    assert refusal.value.errors[0].field == "scopes"


def test_expiry_must_lie_ahead(alice: User) -> None:
    with pytest.raises(InvalidInput):
        issue_token(user=alice, name="x", scopes=["keys:read"], expires_at=clock.now())


def test_a_token_cannot_grant_what_it_lacks(alice: User) -> None:
    issuer, _ = issue_token(user=alice, name="x", scopes=["tokens:write", "keys:read"])
    with pytest.raises(MissingScope):
        issue_token(user=alice, name="y", scopes=["keys:read", "keys:write"], issuer=issuer)
    child, _ = issue_token(user=alice, name="z", scopes=["keys:read"], issuer=issuer)
    assert child.expires_at is None


def test_a_token_cannot_be_outlived_by_what_it_issues(alice: User) -> None:
    end = clock.now() + timedelta(hours=1)
    issuer, _ = issue_token(user=alice, name="x", scopes=["tokens:write"], expires_at=end)
    child, _ = issue_token(user=alice, name="y", scopes=["tokens:write"], issuer=issuer)
    assert child.expires_at == end
    with pytest.raises(MissingScope):
        issue_token(user=alice, name="z", scopes=["tokens:write"], issuer=issuer, expires_at=end + timedelta(seconds=1))


def test_an_account_has_a_limit_of_live_tokens(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.tokens.services.MAX_LIVE_TOKENS", 1)
    token, _ = issue_token(user=alice, name="x", scopes=["keys:read"])
    with pytest.raises(TooMany):
        issue_token(user=alice, name="y", scopes=["keys:read"])
    revoke_token(user=alice, token_id=token.pk)
    issue_token(user=alice, name="y", scopes=["keys:read"])


def test_a_live_token_is_found_by_its_text_in_one_query(alice: User) -> None:
    token, text = issue_token(user=alice, name="x", scopes=["keys:read"])
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = live_token(text)
        assert found is not None
        assert found.user == alice
        assert found.user.email == "alice@example.com"
    assert len(queries) == 1
    assert found == token
    assert found.scopes == ["keys:read"]


def test_other_texts_find_nothing(alice: User) -> None:
    token, text = issue_token(user=alice, name="x", scopes=["keys:read"])
    _, other_text = issue_token(user=alice, name="y", scopes=["keys:read"])
    wrong = [
        "",
        "berth",
        "berth__",
        text[:-1],
        text + "0",
        text.replace("berth", "harbor"),
        text.upper(),
        f"berth_{token.prefix}_{other_text.rpartition('_')[2]}",
        "berth_" + "0" * 2 * constants.TOKEN_PREFIX_BYTES + "_" + "0" * 2 * constants.TOKEN_SECRET_BYTES,
        "berth_" + "\0" * 2 * constants.TOKEN_PREFIX_BYTES + "_" + "0" * 2 * constants.TOKEN_SECRET_BYTES,
        "berth_" + "é" * 2 * constants.TOKEN_PREFIX_BYTES + "_" + "0" * 2 * constants.TOKEN_SECRET_BYTES,
    ]
    assert [live_token(attempt) for attempt in wrong] == [None] * len(wrong)


def test_revoked_expired_and_inactive_end_at_once(alice: User) -> None:
    revoked, revoked_text = issue_token(user=alice, name="x", scopes=["keys:read"])
    _, text = issue_token(user=alice, name="y", scopes=["keys:read"], expires_at=clock.now() + timedelta(minutes=1))
    revoke_token(user=alice, token_id=revoked.pk)
    assert live_token(revoked_text) is None
    assert live_token(text) is not None
    with time_machine.travel(clock.now() + timedelta(minutes=1), tick=False):
        assert live_token(text) is None
    alice.is_active = False
    alice.save()
    assert live_token(text) is None


def test_only_the_owner_revokes_and_only_once(alice: User, mallory: User) -> None:
    token, text = issue_token(user=alice, name="x", scopes=["keys:read"])
    with pytest.raises(NotFound):
        revoke_token(user=mallory, token_id=token.pk)
    assert live_token(text) is not None
    revoke_token(user=alice, token_id=token.pk)
    with pytest.raises(NotFound):
        revoke_token(user=alice, token_id=token.pk)
    assert list(tokens_of(alice)) == []


def test_use_is_noted_at_most_once_a_minute(alice: User) -> None:
    token, _ = issue_token(user=alice, name="x", scopes=["keys:read"])
    start = clock.now()
    noted = []
    for seconds in (0, 1, 59, 60, 61):
        with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
            token.refresh_from_db()
            with CaptureQueriesContext(connection) as queries:
                record_use(token=token)
            noted.append(any("UPDATE" in query["sql"] for query in queries))
    assert noted == [True, False, False, True, False]


@pytest.mark.django_db(transaction=True)
def test_a_locked_token_is_not_waited_for() -> None:
    user = User.objects.create_user("locked@example.com")
    token, _ = issue_token(user=user, name="x", scopes=["keys:read"])
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT 1 FROM accounts_apitoken WHERE id = %s FOR UPDATE", [token.pk])
        record_use(token=token)  # returns at once instead of waiting for the lock
        token.refresh_from_db()
        assert token.last_used_at is None
    finally:
        other.rollback()
        other.close()
