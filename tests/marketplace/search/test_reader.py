"""The process that reads the market for a web process: what it brings, and that nothing depends on it."""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psutil
import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from marketplace.models import Offer
from marketplace.search.index import refresh_process, snapshot
from marketplace.search.index.refresh_process import COMMAND
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offer_page_json
from tests.marketplace.search.seeded import seed_market
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

# No search of a test lasts so long that it would look for itself.
OLD_ENOUGH_MS = 100_000
EVERYTHING = OfferQuery(limit=200)


@pytest.fixture(autouse=True)
def _market(hana: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    seed_market(random.Random(1), hana, 60)
    settings.MARKET_MAX_AGE_MS, settings.MARKET_READER = OLD_ENOUGH_MS, True
    monkeypatch.setattr("marketplace.search.index.refresh_thread.STEP", 5 / OLD_ENOUGH_MS)
    monkeypatch.setenv("DATABASE_URL", _database_url())
    monkeypatch.setattr(refresh_process, "AGAIN_S", 0.0)
    monkeypatch.setattr(snapshot, "READER_FROM", 1)
    yield
    snapshot.forget()


def _database_url() -> str:
    told = connection.settings_dict
    return f"postgresql://{told['USER']}:{told['PASSWORD']}@/{told['NAME']}?host={told['HOST']}&port={told['PORT']}"


def total() -> int:
    return offer_page_json(OfferQuery())[3]


def process() -> psutil.Process | None:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if COMMAND in child.cmdline():
                return child
    return None


def is_ready() -> bool:
    total()
    return snapshot._COPY.reader._is_ready


def test_what_opens_is_made_before_anybody_is_shown_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """More at once than a search would make by itself."""
    made_by_a_search = 1
    monkeypatch.setattr(snapshot, "NEWS_MAX", made_by_a_search)
    before = offer_page_json(EVERYTHING)
    wait_until("it reads", is_ready)
    opened = Offer.objects.filter(gpu_free=0, gpu_spot=0).update(gpu_free=F("gpu_total"))
    assert opened > made_by_a_search
    wait_until("they are there", lambda: total() == before[3] + opened)
    with CaptureQueriesContext(connection) as queries:
        page = offer_page_json(EVERYTHING)
    assert queries.captured_queries == []
    snapshot.forget()
    assert before != page == offer_page_json(EVERYTHING)


def test_while_it_is_not_there_the_thread_reads_itself() -> None:
    before = total()
    wait_until("it reads", is_ready)
    first = process()
    assert first is not None
    first.kill()
    for offer in Offer.objects.filter(gpu_free__gt=0)[:3]:
        Offer.objects.filter(pk=offer.pk).update(gpu_free=0, gpu_spot=0)
    wait_until("the change is seen", lambda: total() == before - 3)
    wait_until("another one reads", lambda: is_ready() and process() not in (None, first))


def test_one_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    before = total()
    wait_until("it reads", is_ready)
    stuck = process()
    assert stuck is not None
    monkeypatch.setattr(refresh_process, "ANSWER_S", 0.2)
    stuck.suspend()
    Offer.objects.filter(pk=Offer.objects.filter(gpu_free__gt=0)[0].pk).update(gpu_free=0, gpu_spot=0)
    wait_until("the change is seen", lambda: total() == before - 1)
    assert not stuck.is_running()


def test_a_small_market_is_read_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "READER_FROM", 1_000)
    before = total()
    closed = Offer.objects.filter(gpu_free=0, gpu_spot=0)[0]
    Offer.objects.filter(pk=closed.pk).update(gpu_free=closed.gpu_total)
    wait_until("it is there", lambda: total() == before + 1)
    assert process() is None


def test_it_ends_when_its_line_is_cut() -> None:
    wait_until("it reads", is_ready)
    snapshot.forget()
    assert process() is None
    wait_until("it reads again", is_ready)
    asked = process()
    assert asked is not None
    snapshot._COPY.refresher.stop()
    snapshot._COPY.reader._link.close()  # type: ignore[union-attr]  # it is ready
    wait_until("it hears it", lambda: asked.status() == psutil.STATUS_ZOMBIE)
