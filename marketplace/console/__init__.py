"""What the market's pages show, one module a page; views hand these to the templates."""

from marketplace.console.compare import (
    compare_address,
    compare_context,
    drop_pick,
    picks_of,
    read_ids,
    toggle_pick,
    tray_context,
)
from marketplace.console.home import home_context
from marketplace.console.market import ImageChoice, Images, address_of, help_context, market_context
from marketplace.console.offer import offer_context

__all__ = [
    "ImageChoice",
    "Images",
    "address_of",
    "compare_address",
    "compare_context",
    "drop_pick",
    "help_context",
    "home_context",
    "market_context",
    "offer_context",
    "picks_of",
    "read_ids",
    "toggle_pick",
    "tray_context",
]
