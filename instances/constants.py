"""Constants of instances, with units."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

QUOTE_LIFETIME: Final = timedelta(minutes=10)
QUOTE_HOURS_MAX: Final = 26_280  # three years
NO_UPFRONT_HOURS_MIN: Final = 720  # shorter terms are paid upfront

# A tiered rent that is stopped for no longer than this goes on counting its hours of continuous use.
CONTINUOUS_WITHIN: Final = timedelta(hours=24)

# Reports end a term of a host that is there, to the moment; the sweep follows so much later.
TERM_SWEEP_LAG: Final = timedelta(seconds=120)

# Spot: from the notice to the stop at least this long, whoever takes the GPUs; other bids wait for the end of the minimum
# run time first; who yielded rests, so that two bids that overbid each other do not take turns by the minute.
SPOT_NOTICE: Final = timedelta(seconds=120)
SPOT_RUN_AT_LEAST: Final = timedelta(minutes=10)
SPOT_REST: Final = timedelta(minutes=5)

# The calculator's largest numbers: every exact result stays printable.
ESTIMATE_HOURS_MAX: Final = 262_800  # thirty years
ESTIMATE_GPUS_MAX: Final = 100_000
ESTIMATE_PRICE_MAX: Final = 1_000_000  # of the currency, per GPU and hour
ESTIMATE_STORAGE_MAX: Final = 1_000_000_000
ESTIMATE_PEAK_MAX: Final = 100
ESTIMATE_TIERS_MAX: Final = 100

# A stopped instance's data is kept this long, then released.
RETENTION: Final = timedelta(days=30)

# After that it is kept for a fee: the disk's price for so much of it, root included, at most so far ahead.
KEEP_ROOT_GB: Final = 10
KEEP_DAYS: Final = (7, 30, 90)
KEEP_DAYS_MAX: Final = 365
KEEP_AHEAD: Final = timedelta(days=400)

# Who gives up a place in line for GPUs keeps the data for the rest of its free time, for this long at least.
KEPT_AFTER_LINE: Final = timedelta(days=1)

# Data that is to be archived before it is deleted: tried again so often, and deleted all the same after so long.
ARCHIVE_AGAIN: Final = timedelta(hours=1)
ARCHIVE_TRIED: Final = timedelta(days=3)

# A place in line for taken GPUs is given up after so long; its hold is free then and the instance stays stopped.
LINE_LONGEST: Final = timedelta(days=7)

# A start or stop of the week that fails because its host is silent is tried again for so long.
SCHEDULE_TRIED: Final = timedelta(minutes=15)
WEEKLY_AT_MOST: Final = 28
TIMER_LONGEST: Final = timedelta(days=366)
IDLE_MINUTES: Final = (10, 720)
# Idling is concluded from samples alone: so many minutes may pass without one, more proves nothing.
IDLE_GAP_MINUTES: Final = 2

# From the stop request to the kill; nothing later than request + grace is charged, whatever the host says (D7).
STOP_GRACE: Final = timedelta(seconds=10)

# How long a passing state may take before people look at it. Nothing is released by time (D2).
DEADLINES: Final[Mapping[str, timedelta]] = {
    "requested": timedelta(minutes=20),
    "provisioning": timedelta(minutes=20),
    "starting": timedelta(minutes=10),
    "restarting": timedelta(minutes=10),
    "stopping": timedelta(minutes=5),
    "copying": timedelta(hours=4, minutes=15),
    "releasing": timedelta(minutes=5),
}

# The copying of a clone or a move is given up after this long; nothing is charged for it meanwhile.
MOVE_WITHIN: Final = timedelta(hours=4)

SSH_PORT: Final = 22
JUPYTER_PORT: Final = 8888
TENSORBOARD_PORT: Final = 6006
SSH_USER: Final = "root"

PIDS_PER_GPU: Final = 4096
JUPYTER_TOKEN_BYTES: Final = 24

# Use over time: as reported, second by second for a while, and rolled up for long.
TRACES_KEPT: Final = timedelta(hours=2)
SAMPLES_KEPT: Final = timedelta(days=2)
MINUTES_KEPT: Final = timedelta(days=14)
HOURS_KEPT: Final = timedelta(days=400)
DAYS_KEPT: Final = timedelta(days=1200)
METRICS_POINTS: Final = 240
METRICS_POINTS_MAX: Final = 2000
METRICS_MINUTES_MAX: Final = 525_600
TRACE_SECONDS_MAX: Final = 120

# Alerts: when each is raised and when it is over again; the second number is lower, so that none flickers.
ALERT_IDLE_FOR: Final = timedelta(minutes=30)
ALERT_IDLE_BELOW_PCT: Final = 3.0
ALERT_BUSY_FROM_PCT: Final = 5.0
ALERT_DISK_PCT: Final = (90.0, 85.0)
ALERT_MEMORY_PCT: Final = (95.0, 88.0)
ALERT_MEMORY_FOR: Final = timedelta(minutes=2)
ALERT_QUIET_AFTER: Final = timedelta(hours=24)  # a kill or a GPU's fault that did not come again is over
ALERT_SILENT_AFTER: Final = timedelta(seconds=90)  # of its host: what is not seen is not over
ALERT_MAIL_TRIED: Final = timedelta(days=1)
ALERTS_KEPT: Final = timedelta(days=180)

SWEEP_BATCH: Final = 500

# The wait list: how many places a person may have, how long each may wait, and how long an ended one stays listed.
WATCHES_AT_MOST: Final = 20
WATCH_SHORTEST: Final = timedelta(hours=1)
WATCH_LONGEST: Final = timedelta(days=30)
WATCH_KEPT: Final = timedelta(days=30)
WATCH_MAX_PRICE_MICROS: Final = 10_000_000_000  # per GPU and hour

# One turn of a watch tries at most this many offers.
WATCH_OFFERS_TRIED: Final = 20
FREE_GPU_TOLD: Final = timedelta(hours=1)  # later than that, nobody is told that GPUs were free

# Whose fault each failure is. The host's is only what no renter can bring about: docs/reliability.md says why of each.
FAULT_OF: Final[Mapping[str, str]] = {
    "image_missing": "platform",
    "image_pull_timeout": "host",
    "create_failed": "host",
    "start_failed": "host",
    "gpu_not_visible": "host",
    "ssh_silent": "host",
    "gpu_conflict": "host",
    "gpu_lost": "host",
    "disk_full": "host",
    "system_disk_full": "renter",
    "exited": "renter",
    "out_of_memory": "renter",
    "removed": "host",
    "host_restarted": "host",
    "image_private": "renter",
    "image_wrong_architecture": "renter",
    "image_too_large": "renter",
    "image_needs_cuda": "renter",
    "registry_silent": "platform",
    "registry_busy": "platform",
    "program_ended": "renter",
    "data_disk_missing": "host",
    "volume_missing": "host",
    "root_lost": "host",
    "killed": "host",
    "engine_restarted": "host",
    "path_broken": "host",
    "port_taken": "host",
}

# Of what ended with a host that staff have written off: the market's own code, no agent tells it.
HOST_WRITTEN_OFF: Final = "host_written_off"

# The host's only while nothing of the renter's is in the root: a first start from an official image. Else nobody's, since
# whoever has a root of its own can make it refuse to start, keep it silent, or fill it up.
UNTOUCHED_ONLY: Final = frozenset(
    {"image_pull_timeout", "create_failed", "start_failed", "gpu_not_visible", "ssh_silent", "disk_full"}
)

# Ways in: how many networks the list for SSH may hold, and how many ports a renter may open beside the image's own.
ALLOWED_NETWORKS_AT_MOST: Final = 32
EXTRA_PORTS_AT_MOST: Final = 8

# A start that meets a port which another program on the host has taken goes on with another one, so often in an hour.
PORT_CHANGES_AT_MOST: Final = 3
PORT_CHANGES_WITHIN: Final = timedelta(hours=1)

# A log that was read so lately is not asked for again; a reading that its host does not answer ends; what was read is
# forgotten when nobody has asked for it for so long.
LOG_FRESH: Final = timedelta(seconds=2)
LOG_PATIENCE: Final = timedelta(seconds=30)
LOG_KEPT: Final = timedelta(minutes=10)
LOG_TAIL: Final = 200
LOG_TAIL_MOST: Final = 2_000

# A link to a program in an instance opens for so long; what it opened stays open for so long.
WEB_LINK_LIFETIME: Final = timedelta(minutes=5)
WEB_VISIT_LIFETIME: Final = timedelta(hours=8)

# A start without GPUs: this share of the host for this price an hour, whatever the offer costs.
CPU_RUN_MILLIS: Final = 500
CPU_RUN_RAM_MB: Final = 2048
CPU_RUN_MICROS_PER_HOUR: Final = 20_000

# Making a data disk larger takes seconds; a host that does not answer for so long has not done it.
GROW_WITHIN: Final = timedelta(minutes=15)
