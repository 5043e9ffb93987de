"""Constants of the API of Vast, with units."""

from datetime import timedelta
from typing import Final

# The clients send a create up to three times, without a key by which a repetition could be told, each time after two
# minutes without an answer. Each repetition that is recognized begins the time anew.
REPEATED_WITHIN: Final = timedelta(minutes=5)
CREATES_KEPT: Final = timedelta(hours=1)

HIGHEST_NUMBER: Final = 2**53  # the largest whole number that every JSON parser keeps

OFFERS_BY_DEFAULT: Final = 64
OFFERS_AT_MOST: Final = 10_000
OFFERS_READ: Final = 2_000  # cheapest first
BULK_AT_MOST: Final = 64
PAGE_AT_MOST: Final = 25
GB_AT_MOST: Final = 100_000
DAYS_PER_MONTH: Final = 30
NO_END: Final = timedelta(days=3650)  # the duration of an offer whose host has promised no end
HIDDEN: Final = "********"
VARIABLES_AT_MOST: Final = 64
STATEMENT_AT_MOST: Final = 2_000
