"""Tables of instances: quotes, events, usage, terms, transfers and the wait list."""

from instances.models.archives import ArchiveDefault
from instances.models.commands import CommandRun
from instances.models.fault_reports import FaultReport
from instances.models.instances import Instance, InstancePort
from instances.models.launches import Launch, LaunchStatus
from instances.models.logs import LogRead
from instances.models.monitoring import Alert, AlertMute, InstanceTrace, InstanceUsage
from instances.models.quotes import Quote
from instances.models.records import InstanceEvent, InstanceSample
from instances.models.terms import SpotBid, Term
from instances.models.transfers import Move
from instances.models.wait_list import Watch

__all__ = [
    "Alert",
    "AlertMute",
    "ArchiveDefault",
    "CommandRun",
    "FaultReport",
    "Instance",
    "InstanceEvent",
    "InstancePort",
    "InstanceSample",
    "InstanceTrace",
    "InstanceUsage",
    "Launch",
    "LaunchStatus",
    "LogRead",
    "Move",
    "Quote",
    "SpotBid",
    "Term",
    "Watch",
]
