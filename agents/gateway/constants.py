"""The gateway's constants, with units."""

from datetime import timedelta

# A report of 64 GPUs and 64 instances with samples is about 60 kB.
MAX_BODY_BYTES = 2 * 1024 * 1024
TICKET_LIFETIME = timedelta(minutes=10)
WAIT_PATH = "/agent/v1/wait"
LINK_PATH = "/relay/v1/link"
REPORT_INTERVAL_S = 20.0

# What the agent is told when the database cannot be reached, or its last sync is still at work.
UNAVAILABLE_RETRY_S = 5
BUSY_RETRY_S = 1

# Anyone can send an unsigned message: of those, one address fills at most this many rows of the audit in a minute.
STRANGERS_WINDOW = timedelta(minutes=1)
STRANGERS_PER_WINDOW = 60
FOREIGN_ROWS_PER_REPORT = 20

# The speed test of a self-test: at most this many requests of one host in a window (a test makes eleven at most).
SPEED_WINDOW = timedelta(minutes=10)
SPEED_REQUESTS_PER_WINDOW = 36

HOW_TO_GO_ON = (
    "The key of this agent was revoked by the host's owner or by the market's staff. Make a join token and type: "
    "berth-agent enrol --new-key --url URL --token TOKEN"
)
