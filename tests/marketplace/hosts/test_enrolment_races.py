"""One join token, many machines; one GPU, two tokens: each wall shown to matter by taking it down."""

from collections import Counter
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db.models import QuerySet

from accounts.models import User
from marketplace.hosts import hosts
from marketplace.hosts.hosts import enrol_host, retire_host
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.models import Gpu, Host
from tests.marketplace.parallel import at_once
from tests.marketplace.shapes import enrolled, gpu, shape

pytestmark = pytest.mark.django_db(transaction=True)

MACHINES = 20


def _token(owner: User) -> str:
    return issue_join_token(owner=owner, host_name="rig", region="eu", price_micros=1)[1]


def _outcomes(results: list[Any]) -> Counter[str]:
    return Counter(type(result).__name__ for result in results)


def _enrol_with(token: str) -> Counter[str]:
    return _outcomes(at_once(MACHINES, lambda _: enrol_host(token=token, shape=shape(1), agent_version="1")))


def test_a_token_shown_by_twenty_machines_makes_one_host(hana: User) -> None:
    assert _enrol_with(_token(hana)) == {"Host": 1, "JoinTokenRefused": MACHINES - 1}
    assert Host.objects.count() == 1 and Gpu.objects.count() == 1


def test_without_the_tokens_lock_it_makes_many(hana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = Barrier(MACHINES)
    honest = hosts._lock_join_token

    def unlocked(token: str) -> Any:
        leave = honest(token)
        with suppress(BrokenBarrierError):
            everybody.wait(timeout=20)
        return leave

    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_options: rows)
    monkeypatch.setattr(hosts, "_lock_join_token", unlocked)
    assert _enrol_with(_token(hana))["Host"] > 1


@pytest.mark.parametrize("retired", [False, True], ids=["new GPU", "GPU of a retired host"])
def test_two_hosts_cannot_take_one_gpu(hana: User, retired: bool) -> None:
    card = gpu()
    if retired:
        old = enrolled(hana, [card], name="old")
        retire_host(host_id=old.pk, reason="sold", actor="test")
    tokens = [_token(hana) for _ in range(8)]
    results = at_once(8, lambda n: enrol_host(token=tokens[n], shape=shape([card]), agent_version="1"))
    assert _outcomes(results) == {"Host": 1, "GpuClaimed": 7}
    assert Host.objects.exclude(state="retired").count() == 1
