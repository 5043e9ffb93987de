"""Reads that audit the ledger: every invariant is checked by one query."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import OperationalError
from django.utils.module_loading import import_string
from psycopg2.extensions import QueryCanceledError

from billing.constants import CLOCK_TOLERANCE
from billing.findings import Finding
from billing.invoices.checks import PAPER_CHECKS
from billing.ledger.anchor_selectors import anchor_findings
from billing.ledger.checks import CHECKS, Check
from billing.ledger.currency import currency_findings
from billing.ledger.posting_checks import SHAPE_CHECKS
from billing.ledger.raw_rows import planned_rows
from billing.ledger.record_checks import RECORD_CHECKS
from billing.ledger.seal_checks import SEAL_CHECKS
from billing.payouts.checks import PAYOUT_CHECKS
from common import clock
from common.db.transactions import statements_within

_LEAST: Final = timedelta(seconds=1)


def all_findings(within: timedelta | None = None) -> list[Finding]:
    """Return every broken invariant of the ledger, its external anchors and its related rows.

    `within` is the time limit described at `ledger_findings`.
    """
    further = [finding for name in settings.LEDGER_CHECKS_BESIDE for finding in import_string(name)()]
    return [*ledger_findings(within), *currency_findings(), *anchor_findings(), *further]


def ledger_findings(within: timedelta | None = None) -> list[Finding]:
    """Return every broken invariant of the ledger; the list is empty when all checks pass.

    `within` limits how long all checks together may take, in place of this connection's statement timeout: the
    nightly audit reads years of postings. A check that does not finish in time is a finding itself, because its
    invariant is not known to hold.
    """
    return list(_findings(clock.now() + CLOCK_TOLERANCE, within))


def _findings(latest: datetime, within: timedelta | None) -> Iterator[Finding]:
    deadline = None if within is None else time.monotonic() + within.total_seconds()
    for check in (*CHECKS, *PAPER_CHECKS, *PAYOUT_CHECKS, *RECORD_CHECKS, *SHAPE_CHECKS, *SEAL_CHECKS):
        found = planned_rows(check.query, latest=latest) if deadline is None else _found(check, latest, deadline)
        for subject, detail in found:
            yield Finding(check.code, check.rule, subject, detail)


def _found(check: Check, latest: datetime, deadline: float) -> list[tuple[Any, ...]]:
    left = max(_LEAST, timedelta(seconds=deadline - time.monotonic()))
    try:
        with statements_within(left):
            return planned_rows(check.query, latest=latest)
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceledError):
            raise
        return [("the check", "it did not end in its time")]
