"""All faults."""

from typing import Final

from tests.seeded_faults import abuse, accounts, agent, hosts, money, orders, payments, rentals
from tests.seeded_faults.fault import Fault

FAULTS: Final[tuple[Fault, ...]] = (
    *money.FAULTS,
    *rentals.FAULTS,
    *agent.FAULTS,
    *accounts.FAULTS,
    *orders.FAULTS,
    *hosts.FAULTS,
    *payments.FAULTS,
    *abuse.FAULTS,
)
