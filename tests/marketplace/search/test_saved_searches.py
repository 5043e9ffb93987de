"""Kept searches: only lines that can be read, each name once, not endlessly many, and nobody else's."""

from uuid import uuid4

import pytest

from accounts.models import User
from common.errors import InvalidInput, NotFound
from marketplace.constants import SAVED_SEARCHES_MAX
from marketplace.errors import SearchNameTaken, SearchSyntaxError, TooManySearches
from marketplace.models import SavedSearch
from marketplace.search.language.parser import LINE_MAX, parse_line
from marketplace.search.saved_searches import delete_search, rename_search, save_search, saved_search_of, saved_searches_of


def test_a_line_is_kept_in_its_canonical_form(alice: User) -> None:
    kept = save_search(user=alice, name="  my   GPUs ", line="price < 1.50 and 4090, count>=2")
    assert (kept.name, kept.line) == ("my GPUs", "count=2 gpu=rtx-4090 price<1.5")
    assert list(saved_searches_of(alice.pk)) == [kept]
    assert saved_search_of(alice.pk, kept.pk) == kept


def test_a_search_for_everything_may_be_kept(alice: User) -> None:
    assert save_search(user=alice, name="all", line=" ").line == ""


def test_a_line_that_grows_when_it_is_written_out_is_kept_as_it_came(alice: User) -> None:
    line = " ".join(["4090 h200 t4 l4 a40 a10 3090 v100 p40 b200 3060 a30 3080ti 2080ti l40s 5090 a16 1080 1070 1060"] * 1)
    line = ",".join(line.split()) + ' region in ["' + "x" * 38 + '"' + "".join(f',"{n}{"y" * 35}"' for n in range(8)) + "]"
    assert len(line) <= LINE_MAX
    kept = save_search(user=alice, name="long", line=line)
    assert len(kept.line) <= LINE_MAX
    assert parse_line(kept.line) == parse_line(line)


def test_what_cannot_be_read_is_not_kept(alice: User) -> None:
    with pytest.raises(SearchSyntaxError):
        save_search(user=alice, name="x", line="prise<2")
    for name in ("", "  ", "x" * 81, "a\0b"):
        with pytest.raises(InvalidInput):
            save_search(user=alice, name=name, line="t4")
    assert not SavedSearch.objects.exists()


def test_a_name_is_given_once_for_each_user(alice: User, bob: User) -> None:
    first = save_search(user=alice, name="mine", line="t4")
    second = save_search(user=alice, name="other", line="t4")
    save_search(user=bob, name="mine", line="t4")
    with pytest.raises(SearchNameTaken):
        save_search(user=alice, name="mine", line="l4")
    with pytest.raises(SearchNameTaken):
        rename_search(user_id=alice.pk, search_id=second.pk, name="mine")
    assert rename_search(user_id=alice.pk, search_id=second.pk, name="third").name == "third"
    assert rename_search(user_id=alice.pk, search_id=first.pk, name="mine").name == "mine"
    assert [each.name for each in saved_searches_of(alice.pk)] == ["mine", "third"]


def test_there_is_a_limit(alice: User, bob: User) -> None:
    for n in range(SAVED_SEARCHES_MAX):
        save_search(user=alice, name=f"search {n}", line="t4")
    with pytest.raises(TooManySearches):
        save_search(user=alice, name="one more", line="t4")
    save_search(user=bob, name="one more", line="t4")
    delete_search(user_id=alice.pk, search_id=saved_searches_of(alice.pk)[0].pk)
    save_search(user=alice, name="one more", line="t4")


def test_other_peoples_searches_are_not_there(alice: User, mallory: User) -> None:
    kept = save_search(user=alice, name="mine", line="t4")
    for search_id in (kept.pk, uuid4()):
        with pytest.raises(NotFound):
            saved_search_of(mallory.pk, search_id)
        with pytest.raises(NotFound):
            rename_search(user_id=mallory.pk, search_id=search_id, name="theirs")
        with pytest.raises(NotFound):
            delete_search(user_id=mallory.pk, search_id=search_id)
    kept.refresh_from_db()
    assert kept.name == "mine"
    delete_search(user_id=alice.pk, search_id=kept.pk)
    assert not SavedSearch.objects.exists()
