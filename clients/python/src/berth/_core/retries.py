"""Whether and when a call is tried again: pure decisions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from berth._core.calls import Call, Fault, Reply

RETRIED: Final = frozenset({408, 429, 502, 503, 504})
NOT_ACTED: Final = frozenset({429})  # refused before anything was done


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently failed calls are repeated."""

    retries: int = 4
    first_pause: float = 0.5
    longest_pause: float = 8.0
    longest_retry_after: float = 60.0  # a market that asks for more is not waited for


def pause_before_retry(
    policy: RetryPolicy, call: Call[Any], outcome: Reply | Fault, attempt: int, luck: float
) -> float | None:
    """Return the seconds until the next attempt, or None if there is to be none.

    `attempt` counts from 0; `luck`, from 0 to 1, spreads the attempts of many clients.
    """
    if attempt >= policy.retries or not _may_repeat(call, outcome):
        return None
    backoff = min(policy.longest_pause, policy.first_pause * float(2**attempt)) * (0.5 + luck / 2)
    retry_after_s = retry_after(outcome) if isinstance(outcome, Reply) else None
    if retry_after_s is None:
        return backoff
    if retry_after_s > policy.longest_retry_after:
        return None
    return max(retry_after_s, 0.0) + luck * min(policy.first_pause, 0.25)


def _may_repeat(call: Call[Any], outcome: Reply | Fault) -> bool:
    if isinstance(outcome, Fault):
        return call.repeatable or not outcome.sent
    if outcome.status not in RETRIED or _is_final(outcome):
        return False
    return call.repeatable or outcome.status in NOT_ACTED


def _is_final(reply: Reply) -> bool:
    return reply.headers.get("x-should-retry", "").lower() == "false"


def retry_after(reply: Reply, *, now: datetime | None = None) -> float | None:
    """Return the seconds of `Retry-After`, which may also be a date; None without a usable one."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())
