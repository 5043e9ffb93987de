"""Limits, lifetimes and paths of the gateway."""

from datetime import timedelta

# A report with 64 GPUs and 64 instances with samples has about 60 kB.
MAX_BODY_BYTES = 2 * 1024 * 1024
TICKET_LIFETIME = timedelta(minutes=10)
WAIT_PATH = "/agent/v1/wait"
LINK_PATH = "/relay/v1/link"
REPORT_INTERVAL_S = 20.0

# Seconds after which an agent retries when the database cannot be reached, or while its last sync is still being
# handled.
UNAVAILABLE_RETRY_S = 5
BUSY_RETRY_S = 1

# Anyone can send an unsigned message: one address can fill at most this many rows of the audit in a minute.
STRANGERS_WINDOW = timedelta(minutes=1)
STRANGERS_PER_WINDOW = 60
FOREIGN_ROWS_PER_REPORT = 20

# Limit of speed-test requests by one host within the window; one self-test makes at most eleven.
SPEED_WINDOW = timedelta(minutes=10)
SPEED_REQUESTS_PER_WINDOW = 36

HOW_TO_GO_ON = (
    "The key of this agent was revoked by the host's owner or by the market's staff. Make a join token and type: "
    "berth-agent enrol --new-key --url URL --token TOKEN"
)
