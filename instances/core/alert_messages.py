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
    Alert.Kind.GPU_IDLE: gettext_lazy("The GPUs do nothing"),
    Alert.Kind.DISK_FULL: gettext_lazy("The data disk is nearly full"),
    Alert.Kind.INODES_FULL: gettext_lazy("The data disk is nearly out of room for more files"),
    Alert.Kind.MEMORY_HIGH: gettext_lazy("Memory is nearly full"),
    Alert.Kind.OUT_OF_MEMORY: gettext_lazy("A program was ended for lack of memory"),
    Alert.Kind.GPU_FAULT: gettext_lazy("The driver reported an error of a GPU"),
    Alert.Kind.PATH_BROKEN: gettext_lazy("Nobody can reach it: its host keeps connections out"),
    Alert.Kind.DATA_LOST: gettext_lazy("The data disk is in trouble on its host"),
}
_VOLUME_TITLES: Final[dict[str, Words]] = {
    Alert.Kind.DISK_FULL: gettext_lazy("The volume %(name)s is nearly full"),
    Alert.Kind.INODES_FULL: gettext_lazy("The volume %(name)s is nearly out of room for more files"),
    Alert.Kind.DATA_LOST: gettext_lazy("The volume %(name)s is in trouble on its host"),
}
_FAULTS: Final[dict[str, Words]] = {
    FaultOf.RENTER: gettext_lazy("It comes from a program in your instance, not from the host."),
    FaultOf.HOST: gettext_lazy("It is the host's fault; its owner and the operator have been told."),
    FaultOf.PLATFORM: gettext_lazy("Whose fault it is cannot be told from the number alone."),
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
        _("They were idle for %(minutes)s minutes, and cost %(rate)s an hour all the same.") % facts,
        _("Stop the instance to pay nothing for them; its data is kept. An idle stop can do that by itself."),
    ]


def _disk(alert: Alert) -> list[str]:
    if "volume" in alert.facts:
        facts = {"percent": alert.facts.get("percent", 90), "path": f"/mnt/{alert.facts['volume']}"}
        return [
            _("%(percent)s %% of %(path)s are used. Programs fail when it is full.") % facts,
            _("Delete what you do not need, or make the volume larger: it grows while the instance runs."),
        ]
    return [
        _("%(percent)s %% of /data are used. Programs fail when it is full.") % {"percent": alert.facts.get("percent", 90)},
        _("Delete what you do not need, or enlarge the disk: it grows while the instance runs."),
    ]


def _entries(alert: Alert) -> list[str]:
    percent = {"percent": alert.facts.get("percent", 90)}
    if "volume" in alert.facts:
        named = percent | {"path": f"/mnt/{alert.facts['volume']}"}
        return [
            _("%(percent)s %% of the files that %(path)s can hold are there. After that no new file can be made.") % named,
            _("Delete small files, or pack many into one archive."),
        ]
    return [
        _("%(percent)s %% of the files that /data can hold are there. After that no new file can be made.") % percent,
        _("Delete small files, or pack many into one archive."),
    ]


def _memory(alert: Alert) -> list[str]:
    facts = {"percent": alert.facts.get("percent", 95), "limit": round(alert.facts.get("limit_mb", 0) / _GIB, 1)}
    return [
        _("%(percent)s %% of %(limit)s GB of memory are used. When it is full, the kernel ends a program.") % facts,
        _("Use smaller batches or fewer loader processes, or rent with more GPUs: memory comes with them."),
    ]


def _killed(alert: Alert) -> list[str]:
    limit = {"limit": round(alert.facts.get("limit_mb", 0) / _GIB, 1)}
    return [
        _("It wanted more than the %(limit)s GB that the instance has, so the kernel ended it.") % limit,
        _("Use smaller batches or fewer loader processes, or rent with more GPUs: memory comes with them."),
        str(_FAULTS[FaultOf.RENTER]),
    ]


def _cut_off(_alert: Alert) -> list[str]:
    return [
        _("Your programs go on, and you pay nothing until it can be reached again. The host's agent is mending it."),
        str(_FAULTS[FaultOf.HOST]),
    ]


def _lost(alert: Alert) -> list[str]:
    named = {"path": f"/mnt/{alert.facts['volume']}" if "volume" in alert.facts else "/data"}
    if alert.facts.get("trouble") == "read_only":
        what = _("%(path)s takes no more writes after errors of the host's disk. What is on it can still be read.") % named
    else:
        what = _("The host has lost what %(path)s is kept in. It works until the instance stops, and is gone then.") % named
    if alert.instance.state not in (InstanceState.RUNNING, InstanceState.RESTARTING):
        what = (
            _("The host does not keep %(path)s as it should. Once it is mended, or a snapshot restored, start it again.")
            % named
        )
        return [what, str(_FAULTS[FaultOf.HOST])]
    return [what, _("Copy what you need out now. Storing it costs nothing from now on."), str(_FAULTS[FaultOf.HOST])]


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
    Alert.Kind.DATA_LOST: _lost,
}
