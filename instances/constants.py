"""Limits, deadlines and other constants of instances, with units."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

QUOTE_LIFETIME: Final = timedelta(minutes=10)
SECRETS_KEPT: Final = timedelta(hours=1)  # of quotes that were not ordered, and of instances that are gone
QUOTE_HOURS_MAX: Final = 26_280  # three years
NO_UPFRONT_HOURS_MIN: Final = 720  # shorter terms are paid upfront

# Continuous use of a tiered rent goes on after a stop of at most this length.
CONTINUOUS_WITHIN: Final = timedelta(hours=24)

# Where a host reports, its reports end a term on time; the sweep handles terms that are overdue by this much.
TERM_SWEEP_LAG: Final = timedelta(seconds=120)

# Spot. SPOT_NOTICE: the least time from notice to stop, whoever gets the GPUs. SPOT_RUN_AT_LEAST: other bids wait
# until a run has lasted this long. SPOT_REST: a bid that has yielded waits this long, so that two bids that overbid
# each other do not alternate every minute.
SPOT_NOTICE: Final = timedelta(seconds=120)
SPOT_RUN_AT_LEAST: Final = timedelta(minutes=10)
SPOT_REST: Final = timedelta(minutes=5)

# Largest inputs of the calculator, so that every exact result can be printed.
ESTIMATE_HOURS_MAX: Final = 262_800  # thirty years
ESTIMATE_GPUS_MAX: Final = 100_000
ESTIMATE_PRICE_MAX: Final = 1_000_000  # in units of the currency, per GPU and hour
ESTIMATE_STORAGE_MAX: Final = 1_000_000_000
ESTIMATE_PEAK_MAX: Final = 100
ESTIMATE_TIERS_MAX: Final = 100

# A stopped instance's data is kept free of charge for this long, then deleted.
RETENTION: Final = timedelta(days=30)

# After that it is kept for a fee: the data disk and KEEP_ROOT_GB for the root, at the disk's price. KEEP_AHEAD is the
# furthest date.
KEEP_ROOT_GB: Final = 10
KEEP_DAYS: Final = (7, 30, 90)
KEEP_DAYS_MAX: Final = 365
KEEP_AHEAD: Final = timedelta(days=400)

# A renter whose instance leaves the queue for GPUs keeps the data for the rest of its free time, at least for this
# long.
KEPT_AFTER_LINE: Final = timedelta(days=1)

# An archive before deletion is retried at this interval; after ARCHIVE_TRIED the data is deleted without one.
ARCHIVE_AGAIN: Final = timedelta(hours=1)
ARCHIVE_TRIED: Final = timedelta(days=3)

# An instance leaves the queue for taken GPUs after this long: its hold is released and it stays stopped.
LINE_LONGEST: Final = timedelta(days=7)

# A scheduled start or stop that fails because its host is silent is retried for this long.
SCHEDULE_TRIED: Final = timedelta(minutes=15)
WEEKLY_AT_MOST: Final = 28
TIMER_LONGEST: Final = timedelta(days=366)
IDLE_MINUTES: Final = (10, 720)
# Longest gap between samples in which an instance still counts as idle; a longer gap proves nothing.
IDLE_GAP_MINUTES: Final = 2

# Time from the stop request to the kill; nothing after request + grace is charged, whatever the host reports (D7).
STOP_GRACE: Final = timedelta(seconds=10)

# After this long a transitional state becomes an incident for staff. Nothing is released by time (D2).
DEADLINES: Final[Mapping[str, timedelta]] = {
    "requested": timedelta(minutes=20),
    "provisioning": timedelta(minutes=20),
    "starting": timedelta(minutes=10),
    "restarting": timedelta(minutes=10),
    "stopping": timedelta(minutes=5),
    "copying": timedelta(hours=4, minutes=15),
    "releasing": timedelta(minutes=5),
}

# A transfer that has not copied everything after this long is cancelled; it is not charged meanwhile.
MOVE_WITHIN: Final = timedelta(hours=4)

SSH_PORT: Final = 22
JUPYTER_PORT: Final = 8888
TENSORBOARD_PORT: Final = 6006
SSH_USER: Final = "root"

PIDS_PER_GPU: Final = 4096
JUPYTER_TOKEN_BYTES: Final = 24

# Retention of usage samples: traces by the second, samples as reported, and roll-ups by minute, hour and day.
TRACES_KEPT: Final = timedelta(hours=2)
SAMPLES_KEPT: Final = timedelta(days=2)
MINUTES_KEPT: Final = timedelta(days=14)
HOURS_KEPT: Final = timedelta(days=400)
DAYS_KEPT: Final = timedelta(days=1200)
METRICS_POINTS: Final = 240
METRICS_POINTS_MAX: Final = 2000
METRICS_MINUTES_MAX: Final = 525_600
TRACE_SECONDS_MAX: Final = 120

# Alerts: thresholds at which each is raised and cleared; the second is lower, so that alerts do not flap.
ALERT_IDLE_FOR: Final = timedelta(minutes=30)
ALERT_IDLE_BELOW_PCT: Final = 3.0
ALERT_BUSY_FROM_PCT: Final = 5.0
ALERT_DISK_PCT: Final = (90.0, 85.0)
ALERT_MEMORY_PCT: Final = (95.0, 88.0)
ALERT_MEMORY_FOR: Final = timedelta(minutes=2)
# an out-of-memory kill or a GPU error that did not recur is over after this long
ALERT_QUIET_AFTER: Final = timedelta(hours=24)
# silence of the host: an alert is not cleared while its cause cannot be observed
ALERT_SILENT_AFTER: Final = timedelta(seconds=90)
ALERT_MAIL_TRIED: Final = timedelta(days=1)
ALERTS_KEPT: Final = timedelta(days=180)

SWEEP_BATCH: Final = 500

# Wait list: entries per user, shortest and longest waiting time, and how long an ended entry stays listed.
WATCHES_AT_MOST: Final = 20
WATCH_SHORTEST: Final = timedelta(hours=1)
WATCH_LONGEST: Final = timedelta(days=30)
WATCH_KEPT: Final = timedelta(days=30)
WATCH_MAX_PRICE_MICROS: Final = 10_000_000_000  # per GPU and hour

# The most offers that one evaluation of a wait-list entry tries.
WATCH_OFFERS_TRIED: Final = 20
FREE_GPU_TOLD: Final = timedelta(hours=1)  # after this long, a mail about free GPUs is not sent any more

# Who is at fault for each failure. The host only is for what no renter can cause; docs/reliability.md explains each.
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
    "paused": "host",
    "throttled": "host",
    "port_taken": "host",
}

# Failure code of instances on a host that staff have written off; only the market sets it, never an agent.
HOST_WRITTEN_OFF: Final = "host_written_off"

# For these codes the host is only at fault if the root is unmodified: at the first start from an official image, without
# launch settings. Else nobody is, since a renter can make it refuse to start, never answer SSH, or fill the disk.
UNTOUCHED_ONLY: Final = frozenset(
    {"image_pull_timeout", "create_failed", "start_failed", "gpu_not_visible", "ssh_silent", "disk_full"}
)

# Access: the most networks in the allow list for SSH, and the most ports beside the image's own.
ALLOWED_NETWORKS_AT_MOST: Final = 32
EXTRA_PORTS_AT_MOST: Final = 8

# A start whose port is taken by another program on the host goes on with another port, at most this often in an hour.
PORT_CHANGES_AT_MOST: Final = 3
PORT_CHANGES_WITHIN: Final = timedelta(hours=1)

# Log reads. LOG_FRESH: a newer result is returned without asking the host again. LOG_PATIENCE: a read that the host
# does not answer fails. LOG_KEPT: results that nobody has asked for in this time are deleted.
LOG_FRESH: Final = timedelta(seconds=2)
LOG_PATIENCE: Final = timedelta(seconds=30)
LOG_KEPT: Final = timedelta(minutes=10)
LOG_TAIL: Final = 200
LOG_TAIL_MOST: Final = 2_000

# One-shot commands. COMMAND_PATIENCE: beyond its own time, for the host to begin and to report; after that its end is
# unknown. COMMANDS_KEPT: results are deleted this long after the request's end; of an instance, the output of the newest
# COMMAND_OUTPUTS_KEPT alone is kept.
COMMAND_TIMEOUT_S: Final = 60
COMMAND_TIMEOUT_S_MAX: Final = 3600
COMMAND_PATIENCE: Final = timedelta(seconds=60)
COMMANDS_AT_ONCE: Final = 4  # of one instance
COMMANDS_PER_MINUTE: Final = 60  # of one renter
COMMAND_STDIN_BYTES: Final = 64 * 1024
COMMAND_BYTES: Final = 256 * 1024  # of words, variables and input as JSON: every message to the host holds them
COMMANDS_KEPT: Final = timedelta(hours=1)
COMMAND_OUTPUTS_KEPT: Final = 20

# Validity of a link to a program in an instance, and of the session that the link opens.
WEB_LINK_LIFETIME: Final = timedelta(minutes=5)
WEB_VISIT_LIFETIME: Final = timedelta(hours=8)

# A start without GPUs gets this share of the host at this price per hour, whatever the offer costs.
CPU_RUN_MILLIS: Final = 500
CPU_RUN_RAM_MB: Final = 2048
CPU_RUN_MICROS_PER_HOUR: Final = 20_000

# Growing a data disk takes seconds; the operation fails if the host has not reported it after this long.
GROW_WITHIN: Final = timedelta(minutes=15)
