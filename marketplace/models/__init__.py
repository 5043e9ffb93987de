"""Tables of the market: hosts, GPUs, offers, leases, and reliability."""

from marketplace.models.hosts import Epoch, Gpu, Host, HostEvent, HostWriteOff, JoinToken
from marketplace.models.jobs import SweepRun
from marketplace.models.leases import Claim, Incident, Lease
from marketplace.models.offers import Offer, OfferPrice, SavedSearch, SpotPrice
from marketplace.models.reliability import Maintenance, Measurement, ReliabilityEvent, SelfTest

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
