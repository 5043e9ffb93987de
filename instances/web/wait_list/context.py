"""Template contexts of the wait list: rows, first values of the form, and what an entry would hold."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import F

from accounts.models import User
from accounts.selectors import ssh_keys_of
from common import clock
from common.errors import DomainError
from common.money import MICROS_PER_UNIT, format_money
from instances.constants import WATCHES_AT_MOST
from instances.models import Watch
from instances.states import WatchAction, WatchState
from instances.wait_list.entries import draft_entry, highest_cost, query_of
from instances.wait_list.messages import reason_of
from instances.wait_list.selectors import entries_of, held_for_watches, waiting_of
from instances.web.orders.forms import WatchForm
from marketplace.search.language.fields import Op
from marketplace.search.language.parser import parse_line
from marketplace.search.selectors import search_offers
from marketplace.web.search.language.query_string import write_params
from storage.images.selectors import active_images

ROWS_ON_A_PAGE: Final = 20
FIRST_DISK_GB: Final = 20  # the same as on the rental page
WAITING_FIRST: Final = (F("ended_at").desc(nulls_first=True), "place")


@dataclass(frozen=True)
class Row:
    """One wait-list entry as the console shows it."""

    watch: Watch
    ahead: int
    held_micros: int
    search: str  # query of the market page for the same search

    @property
    def waits(self) -> bool:
        return self.watch.state == WatchState.WAITING

    @property
    def rents(self) -> bool:
        return self.watch.action == WatchAction.RENT

    @property
    def reason(self) -> str:
        return reason_of(self.watch)


def wait_list_context(user: User, page: str | None) -> dict[str, Any]:
    found: Page[Watch] = Paginator(entries_of(user).order_by(*WAITING_FIRST), ROWS_ON_A_PAGE).get_page(page)
    watches: list[Any] = list(found.object_list)
    held = held_for_watches(watches)
    rows = [Row(watch, watch.ahead, held.get(watch.pk, 0), _search_of(watch)) for watch in watches]
    return {
        "page": found,
        "rows": rows,
        "now": clock.now(),
        "full": waiting_of(user).count() >= WATCHES_AT_MOST,
        "most": WATCHES_AT_MOST,
    }


def entry_form(user: User, sent: Any, line: str) -> WatchForm:
    """Return the form, bound to what was sent or filled from a search line."""
    images, keys = list(active_images()), ssh_keys_of(user, None)
    return WatchForm(sent, auto_id="watch-%s", initial=_first_values(line), images=images, keys=keys)


def preview_context(user: User, form: WatchForm) -> dict[str, Any]:
    """Return what the entry would hold and how many offers match now, or the error in `refused`."""
    if not form.is_valid():
        return {"form": form}
    try:
        draft = draft_entry(user=user, **form.place)
        fitting = search_offers(query_of(draft)).total
    except DomainError as error:
        return {"form": form, "refused": error}
    return {"form": form, "draft": draft, "held_micros": highest_cost(draft), "fitting": fitting}


def _search_of(watch: Watch) -> str:
    try:
        return write_params(parse_line(watch.line))
    except DomainError:
        return ""


def _first_values(line: str) -> dict[str, Any]:
    """Return first values of the form; a highest price in the search becomes that of the order."""
    try:
        query = parse_line(line)
    except DomainError:
        return {"q": line}
    prices = [one for one in query.conditions if one.term == "price" and one.op in (Op.LE, Op.LT)]
    limits = [one.value for one in prices if isinstance(one.value, Decimal)]
    price = min(limits, default=None)
    return {
        "q": line,
        "max_price": "" if price is None else format_money(int(price * MICROS_PER_UNIT)),
        "data_disk_gb": query.data_disk_gb or FIRST_DISK_GB,
        "image": query.image,
    }
