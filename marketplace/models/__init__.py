"""Tables of the market: hosts, GPUs, offers, leases, and reliability."""

from marketplace.models.epochs import Epoch
from marketplace.models.hosts import Gpu, Host, HostEvent, JoinToken
from marketplace.models.jobs import SweepRun
from marketplace.models.leases import Claim, Incident, Lease
from marketplace.models.offers import Offer, OfferPrice, SavedSearch, SpotPrice
from marketplace.models.reliability import Maintenance, Measurement, ReliabilityEvent, SelfTest
from marketplace.models.write_offs import HostWriteOff

__all__ = [
    "Claim",
    "Epoch",
    "Gpu",
    "Host",
    "HostEvent",
    "HostWriteOff",
    "Incident",
    "JoinToken",
    "Lease",
    "Maintenance",
    "Measurement",
    "Offer",
    "OfferPrice",
    "ReliabilityEvent",
    "SavedSearch",
    "SelfTest",
    "SpotPrice",
    "SweepRun",
]
