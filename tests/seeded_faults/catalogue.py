"""All faults."""

from typing import Final

from tests.seeded_faults import accounts, agent, money, rentals
from tests.seeded_faults.fault import Fault

FAULTS: Final[tuple[Fault, ...]] = (*money.FAULTS, *rentals.FAULTS, *agent.FAULTS, *accounts.FAULTS)
