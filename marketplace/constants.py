"""Constants of the market, with units."""

from datetime import timedelta

JOIN_TOKEN_LIFETIME = timedelta(minutes=15)

# A host whose agent has not reported for this long is silent: nothing new is leased on it, its leases stay (D2).
HOST_SILENT_AFTER = timedelta(seconds=60)

# Staff may write a host off once it has been silent for this long; at once when its agent's key is revoked.
WRITE_OFF_AFTER = timedelta(minutes=15)
WRITE_OFF_REASON_CHARS = 10
SETTLED_AGAIN_FOR = timedelta(hours=1)  # longer than any transaction lasts

# An engine that has not answered for this long takes no new rents (fault 28); its agent still reports.
ENGINE_SLOW_AFTER_S = 60.0

# D6: when hosts of this share of the owners, or all hosts, fall silent together, the fault is ours, not theirs.
# "Together" is measured over a window, since agents report at different seconds and a failing network loses them a
# few at a time.
BREAKER_SHARE = 0.30
BREAKER_HOSTS = 3
BREAKER_OWNERS = 3
BREAKER_WINDOW = timedelta(minutes=5)

# It delays consequences of silence for at most this long within a day: whoever is silent after that counts as gone.
BREAKER_LASTS = timedelta(minutes=30)
BREAKER_DAY = timedelta(hours=24)
# A host whose last report is no later than this after its enrolment has never reported: enrolling counts as one.
ENROLMENT_SEEN = timedelta(seconds=1)

# A sixteenth of the memory stays with the host's own system, engine and agent.
HOST_RAM_RESERVE_DIVISOR = 16

FREE_DATA_DISK_GB = 50

# What the root of every instance may hold besides its image: free, and taken from the host's disk at creation.
SYSTEM_DISK_GB = 20

# Steps of the tiered mode where a host owner has set none: (hours of continuous use, basis points off).
DEFAULT_TIERS = ((720, 1500),)

# Price of a stopped instance that keeps its GPUs, as a part of the hourly price, where a host owner has set none.
DEFAULT_HOLD_BPS = 5_000

# Prices that a host owner may set: discounts are basis points off the hourly price.
MAX_DISCOUNT_BPS = 9_000
MAX_TIERS = 10
TIER_HOURS_MAX = 26_280
PRICE_MICROS_MAX = 10**12
# Default price per day of a GB above the free quota on a new host: 0.10 a month.
FIRST_DISK_MICROS_GB_DAY = 3_300
PRICE_HISTORY_DAYS = 90
PRICE_POINTS_MAX = 1_000

# A host is verified while its latest self-test passed, is of its present hardware, and is not older than
# VERIFIED_FOR.
VERIFIED_FOR = timedelta(days=30)
SELF_TEST_EXPIRES_AFTER = timedelta(minutes=15)
# The market itself requests a self-test this often, so that a verified host stays verified; it pauses after one
# without an answer.
SELF_TEST_EVERY = timedelta(days=7)
SELF_TEST_PAUSE = timedelta(hours=6)
SELF_TEST_BATCH = 100
# What a GPU in use cannot be tested for counts as it was found last, for this long.
CHECK_COUNTS_FOR = timedelta(days=90)
SELF_TESTS_SHOWN = 10
SELF_TESTS_KEPT = 50
MAX_CHECKS = 400
# Disk and network are shown as the median of this many measurements.
MEASUREMENTS_COUNTED = 5
MEASUREMENTS_KEPT = 20

MAX_GPUS_PER_HOST = 64
DATA_DISK_GB_MAX = 100_000
SAVED_SEARCHES_MAX = 50
PAGE_SIZE = 50
PAGE_SIZE_MAX = 200
HOST_EVENTS_SHOWN = 20

# Announced maintenance excuses a host, so it is limited: notice (`reliability.NOTICE`), length, number, how far
# ahead.
MAINTENANCE_LONGEST = timedelta(hours=12)
MAINTENANCE_MOST = 4
MAINTENANCE_SPAN = timedelta(days=30)
MAINTENANCE_AHEAD = timedelta(days=90)

# Number of hosts whose new score is written in one transaction.
RELIABILITY_BATCH = 200
