"""Faults in the host agent."""

from typing import Final

from tests.seeded_faults.fault import Fault

_JOURNAL: Final = ("tests/agents/daemon/lib/test_journal.py",)
_FENCING: Final = ("tests/agents/daemon/reconciler/test_fencing.py", "tests/agents/daemon/reconciler/test_early_orders.py")

FAULTS: Final = (
    Fault(
        name="agent: the journal's checksums are not compared",
        path="agents/daemon/lib/journal.py",
        old='if line[at:].startswith(_SUM) and line[-10:-2] != b"%08x" % zlib.crc32(line[:at] + b"}"):',
        new="if at < 0:",
        tests=_JOURNAL,
    ),
    Fault(
        name="agent: the journal is not on the disk when the call returns",
        path="agents/daemon/lib/journal.py",
        old="        if self._durable:\n            os.fdatasync(self._file)\n",
        new="",
        tests=_JOURNAL,
    ),
    Fault(
        name="agent: what could not be written to the journal counts",
        path="agents/daemon/lib/journal.py",
        old="            except OSError:\n                self._entries = before\n                raise\n",
        new="            except OSError:\n                raise\n",
        tests=_JOURNAL,
    ),
    Fault(
        name="agent: an older fence is accepted",
        path="agents/daemon/reconciler/fencing.py",
        old="elif desired.fence < entry.fence or desired.generation < entry.generation:",
        new="elif desired.generation < entry.generation:",
        tests=("tests/agents/daemon/reconciler/test_fencing.py::test_fault_019_what_is_older_is_refused",),
    ),
    Fault(
        name="agent: what is gone comes back without another lease",
        path="agents/daemon/reconciler/fencing.py",
        old='desired.run != "gone" and desired.fence == entry.fence:',
        new='desired.run != "gone" and desired.fence > entry.fence:',
        tests=_FENCING,
    ),
    Fault(
        name="agent: a late early order starts again what was stopped",
        path="agents/daemon/reconciler/fencing.py",
        old='if desired.run != "running" or desired.generation <= entries.get(desired.id, Entry()).generation:',
        new='if desired.run != "running":',
        tests=_FENCING,
    ),
    Fault(
        name="agent: a name that is no id reaches a path",
        path="agents/daemon/reconciler/fencing.py",
        old="if not _UUID.fullmatch(desired.id):",
        new="if not _UUID.match(desired.id):",
        tests=_FENCING,
    ),
    Fault(
        name="agent: a port outside the host's range is bound",
        path="agents/daemon/reconciler/actions.py",
        old="if not self._limits.port_first <= host_port <= self._limits.port_last:",
        new="if not 0 <= host_port <= self._limits.port_last:",
        tests=("tests/agents/daemon/reconciler/test_actions.py",),
    ),
    Fault(
        name="agent: the last port of the host's range is refused",
        path="agents/daemon/reconciler/actions.py",
        old="<= host_port <= self._limits.port_last:",
        new="<= host_port < self._limits.port_last:",
        tests=("tests/agents/daemon/reconciler/test_actions.py",),
    ),
    Fault(
        name="agent: a lost data disk is replaced by an empty one",
        path="agents/daemon/reconciler/actions.py",
        old="if not (desired.data_disk_made or self._journal.entry(desired.id).disk_made):",
        new="if not self._journal.entry(desired.id).disk_made:",
        tests=("tests/agents/daemon/reconciler/test_actions.py",),
    ),
    Fault(
        name="agent: another's disk is taken over",
        path="agents/daemon/disks/received_ext4.py",
        old='if label not in ("", *map(ext4.label_of, keys)):',
        new="if label is None:",
        tests=("tests/agents/daemon/disks/test_received_ext4.py",),
    ),
)
