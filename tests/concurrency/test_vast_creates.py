"""Creates that a client of Vast sends more than once at the same time: one instance and one charge."""

from contextlib import closing
from functools import partial
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from accounts.models import User
from accounts.tokens.services import issue_token
from billing.models import Hold
from common import clock
from instances.models import Instance
from marketplace.models import Lease
from storage.models import Image
from tests.billing.money import assert_sound, in_parallel, wallet
from tests.instances.fake_host import FakeHost
from vast.constants import CREATES_KEPT
from vast.create.bodies import read_create
from vast.create.orders import create_from_ask, forget_creates, program_of
from vast.models import Ask, SentCreate
from vast.search.offers import find_offers, read_search

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 20
BODY: dict[str, Any] = {"image": "berth-base", "disk": 10, "env": {}, "runtype": "ssh"}


def create(renter: User, *, bodies: list[dict[str, Any]]) -> list[object]:
    (row,) = find_offers(read_search({"num_gpus": {"eq": "1"}}))
    token, _ = issue_token(user=renter, name="vast", scopes=["instances:write"])

    def send(body: dict[str, Any]) -> object:
        wanted = read_create(body)
        program = program_of(renter, wanted)
        return create_from_ask(
            renter=renter, credential=token.pk, number=row["id"], body=body, wanted=wanted, program=program
        )

    return in_parallel([partial(send, body) for body in bodies])


def test_the_same_create_twenty_times_at_once_is_one_instance(rich: User, hana: User, image: Image) -> None:
    FakeHost(hana, gpus=4)
    results = create(rich, bodies=[BODY] * AT_ONCE)
    assert {type(result) for result in results} == {Instance}, results
    assert len({result.pk for result in results if isinstance(result, Instance)}) == 1
    assert (Instance.objects.count(), Lease.objects.filter(released_at=None).count()) == (1, 1)
    assert (Hold.objects.filter(released_at=None).count(), wallet(rich).held_micros) == (1, 3_600_000)
    assert_sound()


def test_without_the_lock_and_the_constraint_there_would_be_more(
    rich: User, hana: User, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control: what the row of a create is for."""
    FakeHost(hana, gpus=4)
    monkeypatch.setattr("vast.create.orders._claim", lambda renter, digest: SentCreate(user=renter, digest=digest))
    monkeypatch.setattr(SentCreate, "save", lambda *_args, **_options: None)
    results = create(rich, bodies=[BODY] * 2)
    assert len({result.pk for result in results if isinstance(result, Instance)}) == 2


def test_a_create_is_not_forgotten_while_it_is_sent_again(
    rich: User, hana: User, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep comes between the statement that finds the old row and the one that reads it."""
    FakeHost(hana, gpus=4)
    create(rich, bodies=[BODY])
    SentCreate.objects.update(at=clock.now() - 2 * CREATES_KEPT)
    insert, sweeps = SentCreate.objects.bulk_create, []

    def forget() -> None:
        with closing(connection):
            forget_creates()

    def insert_before_the_sweep(*rows: Any, **options: Any) -> Any:
        made = insert(*rows, **options)
        sweeps.append(Thread(target=forget))
        sweeps[-1].start()
        sweeps[-1].join(1)
        return made

    monkeypatch.setattr(SentCreate.objects, "bulk_create", insert_before_the_sweep)
    (again,) = create(rich, bodies=[BODY])
    assert isinstance(again, Instance), again
    for sweep in sweeps:
        sweep.join(30)
    assert SentCreate.objects.get().instance == again


def test_searches_at_once_give_an_ask_one_number(hana: User, image: Image) -> None:
    FakeHost(hana, gpus=4)
    found = in_parallel([partial(find_offers, read_search({})) for _ in range(AT_ONCE)])
    numbers = {tuple(sorted(row["id"] for row in rows)) for rows in found if isinstance(rows, list)}
    assert len(numbers) == 1 and Ask.objects.count() == 3
