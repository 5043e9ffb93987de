"""Texts of alerts for pages and mail: what is wrong, whose fault it is, what to do."""

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from billing.standing.messages import money
from common.mail import name_in_mail
from instances.core.gpu_xid_errors import xid_of
from instances.models import Alert
from instances.states import FaultOf, InstanceState

Words = str | Promise

TITLES: Final[dict[str, Words]] = {
    Alert.Kind.GPU_IDLE: gettext_lazy("GPUs are idle"),
    Alert.Kind.DISK_FULL: gettext_lazy("The data disk is almost full"),
    Alert.Kind.INODES_FULL: gettext_lazy("The data disk is almost out of inodes"),
    Alert.Kind.MEMORY_HIGH: gettext_lazy("Memory is almost full"),
    Alert.Kind.OUT_OF_MEMORY: gettext_lazy("A program ran out of memory and was killed"),
    Alert.Kind.GPU_FAULT: gettext_lazy("The driver reported a GPU error"),
    Alert.Kind.PATH_BROKEN: gettext_lazy("The instance can't be reached: its host blocks connections"),
    Alert.Kind.PAUSED: gettext_lazy("The instance is paused on its host"),
    Alert.Kind.THROTTLED: gettext_lazy("The instance has less CPU or memory than you rented"),
    Alert.Kind.DATA_LOST: gettext_lazy("The data disk has a problem on its host"),
}
_VOLUME_TITLES: Final[dict[str, Words]] = {
    Alert.Kind.DISK_FULL: gettext_lazy("The volume %(name)s is almost full"),
    Alert.Kind.INODES_FULL: gettext_lazy("The volume %(name)s is almost out of inodes"),
    Alert.Kind.DATA_LOST: gettext_lazy("The volume %(name)s has a problem on its host"),
}
_FAULTS: Final[dict[str, Words]] = {
    FaultOf.RENTER: gettext_lazy("The cause is a program in your instance, not the host."),
    FaultOf.HOST: gettext_lazy("This is the host's fault. We've notified its owner and our staff."),
    FaultOf.PLATFORM: gettext_lazy("The error code alone doesn't show whose fault it is."),
}
_GIB: Final = 1024


def english_of(words: Words) -> str:
    with override("en"):
        return str(words)


def title_of(alert: Alert) -> str:
    if alert.kind == Alert.Kind.GPU_FAULT:
        return str(xid_of(alert.facts.get("xid", 0)).title)
    if "volume" in alert.facts:
        return str(_VOLUME_TITLES[alert.kind]) % {"name": alert.facts["volume"]}
    return str(TITLES[alert.kind])


def english_title_of(alert: Alert) -> str:
    with override("en"):
        return title_of(alert)


def english_sentences_of(alert: Alert) -> str:
    with override("en"):
        return " ".join(sentences_of(alert))


def sentences_of(alert: Alert) -> list[str]:
    """Return sentences that say what is wrong and what to do about it."""
    return _SENTENCES[Alert.Kind(alert.kind)](alert)


def _idle(alert: Alert) -> list[str]:
    facts = {"minutes": alert.facts.get("minutes", 30), "rate": money(alert.facts.get("rate_micros", 0))}
    return [
        _("They've been idle for %(minutes)s minutes, at %(rate)s/hr.") % facts,
        _("Stop the instance to stop paying for GPUs; data is kept. Idle stop can do this for you."),
    ]


def _disk(alert: Alert) -> list[str]:
    if "volume" in alert.facts:
        facts = {"percent": alert.facts.get("percent", 90), "path": f"/mnt/{alert.facts['volume']}"}
        return [
            _("%(path)s is %(percent)s%% full. Programs fail when it runs out of space.") % facts,
            _("Delete files or expand the volume. It can be expanded while the instance runs."),
        ]
    return [
        _("/data is %(percent)s%% full. Programs fail when it runs out of space.")
        % {"percent": alert.facts.get("percent", 90)},
        _("Delete files or expand the disk. It can be expanded while the instance runs."),
    ]


def _entries(alert: Alert) -> list[str]:
    percent = {"percent": alert.facts.get("percent", 90)}
    if "volume" in alert.facts:
        named = percent | {"path": f"/mnt/{alert.facts['volume']}"}
        return [
            _("%(percent)s%% of the inodes of %(path)s are used. When they run out, no new files can be created.") % named,
            _("Delete small files or pack them into an archive."),
        ]
    return [
        _("%(percent)s%% of the inodes of /data are used. When they run out, no new files can be created.") % percent,
        _("Delete small files or pack them into an archive."),
    ]


def _memory(alert: Alert) -> list[str]:
    facts = {"percent": alert.facts.get("percent", 95), "limit": round(alert.facts.get("limit_mb", 0) / _GIB, 1)}
    return [
        _("Memory is %(percent)s%% full (of %(limit)s GB). When it runs out, the kernel kills a program.") % facts,
        _("Use smaller batches or fewer data loaders, or rent more GPUs, which come with more memory."),
    ]


def _killed(alert: Alert) -> list[str]:
    limit = {"limit": round(alert.facts.get("limit_mb", 0) / _GIB, 1)}
    return [
        _("It needed more than the instance's %(limit)s GB, so the kernel killed it.") % limit,
        _("Use smaller batches or fewer data loaders, or rent more GPUs, which come with more memory."),
        str(_FAULTS[FaultOf.RENTER]),
    ]


def _cut_off(_alert: Alert) -> list[str]:
    return [
        _(
            "Your programs keep running, and you aren't charged until it can be reached again. The host's"
            " agent is fixing it."
        ),
        str(_FAULTS[FaultOf.HOST]),
    ]


def _paused(_alert: Alert) -> list[str]:
    return [
        _(
            "Someone paused the container on the host, so your programs are frozen. You aren't charged until they"
            " run again. To continue elsewhere, stop the instance and migrate it or rent on another host."
        ),
        str(_FAULTS[FaultOf.HOST]),
    ]


def _throttled(_alert: Alert) -> list[str]:
    return [
        _(
            "Someone lowered its limits on the host. You aren't charged until they're restored. The host's agent is"
            " restoring them."
        ),
        str(_FAULTS[FaultOf.HOST]),
    ]


def _lost(alert: Alert) -> list[str]:
    named = {"path": f"/mnt/{alert.facts['volume']}" if "volume" in alert.facts else "/data"}
    if alert.facts.get("trouble") == "read_only":
        what = _("%(path)s became read-only after disk errors on the host. Existing files can still be read.") % named
    else:
        what = (
            _("The host has lost the storage of %(path)s. It works until the instance stops; then the data is gone.") % named
        )
    if alert.instance.state not in (InstanceState.RUNNING, InstanceState.RESTARTING):
        what = _("The host has a problem storing %(path)s. Start again once it's fixed or a snapshot is restored.") % named
        return [what, str(_FAULTS[FaultOf.HOST])]
    return [what, _("Copy out what you need now. Storing it is free from now on."), str(_FAULTS[FaultOf.HOST])]


def _gpu(alert: Alert) -> list[str]:
    xid = xid_of(alert.facts.get("xid", 0))
    return [
        _("%(gpu)s: Xid %(xid)s.")
        % {"gpu": name_in_mail(str(alert.facts.get("gpu", ""))), "xid": alert.facts.get("xid", "")},
        str(_FAULTS[xid.fault_of]),
        str(xid.advice),
    ]


_SENTENCES: Final[Mapping[Alert.Kind, Callable[[Alert], list[str]]]] = {
    Alert.Kind.GPU_IDLE: _idle,
    Alert.Kind.DISK_FULL: _disk,
    Alert.Kind.INODES_FULL: _entries,
    Alert.Kind.MEMORY_HIGH: _memory,
    Alert.Kind.OUT_OF_MEMORY: _killed,
    Alert.Kind.GPU_FAULT: _gpu,
    Alert.Kind.PATH_BROKEN: _cut_off,
    Alert.Kind.PAUSED: _paused,
    Alert.Kind.THROTTLED: _throttled,
    Alert.Kind.DATA_LOST: _lost,
}
