"""Packet rules for the instances' bridges: they reach the internet, not the host or each other."""

import shutil
import subprocess
from pathlib import Path

from agents.daemon.docker_engine.container_spec import BRIDGE_PREFIX
from agents.daemon.docker_engine.dropped_packets import outside_interfaces
from agents.daemon.docker_engine.reachability import PROC, Rules, is_forwarding, listening_ports, stopped_ports
from agents.daemon.docker_engine.ssh_allow_list import SshAllowList

FORWARD_CHAIN = "BERTH"
INPUT_CHAIN = "BERTH-IN"
BLOCKED = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "224.0.0.0/4", "127.0.0.0/8")
MAIL_PORTS = "25,465,587"
# Limit of new connections from one instance, since scans and floods need no GPU.
RATE_RULE = (
    "-m conntrack --ctstate NEW -m hashlimit --hashlimit-above 200/sec --hashlimit-burst 400 "
    "--hashlimit-mode srcip --hashlimit-name berth -j DROP"
)
TIMEOUT = 10
_BRIDGES = f"{BRIDGE_PREFIX}+"


def rules(resolvers: list[str], *, rate: bool = True) -> list[str]:
    """Return the rules of both chains as `iptables -S` prints them.

    Replies pass first, since a renter may connect from a private address.
    """
    known = "-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN"
    forward = [known, RATE_RULE] if rate else [known]
    for address in resolvers:
        forward += [f"-d {address}/32 -p {kind} -m {kind} --dport 53 -j RETURN" for kind in ("udp", "tcp")]
    forward += [f"-d {network} -j DROP" for network in BLOCKED]
    forward += [f"-p tcp -m multiport --dports {MAIL_PORTS} -j DROP"]
    inward = [known, *(f"-p {kind} -m {kind} --dport 53 -j RETURN" for kind in ("udp", "tcp")), "-j DROP"]
    return [
        *(f"-A {FORWARD_CHAIN} {rule}" for rule in forward),
        *(f"-A {INPUT_CHAIN} {rule}" for rule in inward),
    ]


def jumps() -> list[tuple[str, str]]:
    """Return (chain, rule) pairs that jump from the kernel's and the engine's chains to ours."""
    return [("DOCKER-USER", f"-i {_BRIDGES} -j {FORWARD_CHAIN}"), ("INPUT", f"-i {_BRIDGES} -j {INPUT_CHAIN}")]


def resolvers_of(path: Path) -> list[str]:
    """Return the host's IPv4 name servers, which containers use too."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = [line.split()[1] for line in lines if line.startswith("nameserver ") and "." in line]
    return [address for address in found if not address.startswith("127.")]


class Firewall:
    """Keeps the rules in place; does nothing where iptables is missing or may not be used."""

    def __init__(self, resolv_conf: Path = Path("/etc/resolv.conf")) -> None:
        self._iptables = shutil.which("iptables")
        self.resolv_conf = resolv_conf
        self.ssh_allow_list = SshAllowList(self._call, self._restore)

    def assert_rules(self) -> bool:
        """Install the rules and return whether they are in place; only four reads if they already are."""
        if self._iptables is None:
            return False
        resolvers = resolvers_of(self.resolv_conf)
        # a kernel without hashlimit still gets all other rules
        wanted = [rules(resolvers), rules(resolvers, rate=False)]
        if self._chain(FORWARD_CHAIN) + self._chain(INPUT_CHAIN) not in wanted and not any(map(self._load, wanted)):
            return False
        return all(self._ensure_jump(chain, rule) for chain, rule in jumps()) and self.ssh_allow_list.assert_all()

    def rules_now(self) -> Rules:
        """Return all packet rules of this machine, and what else decides where connections go."""
        tables = [self._call("-S", "-t", table).stdout.splitlines() for table in ("nat", "filter")]
        nat, packets = ([line.strip() for line in table] for table in tables)
        return Rules(
            nat,
            packets,
            forwarding=is_forwarding(),
            listening=listening_ports(),
            stopped=stopped_ports(),
            outside=outside_interfaces(PROC),
        )

    def remove(self) -> bool:
        """Remove both chains and all jumps to them; return whether there were any."""
        stood = [name for name in (FORWARD_CHAIN, INPUT_CHAIN) if self._call("-S", name).returncode == 0]
        for chain, rule in jumps():
            while self._call("-C", chain, *rule.split()).returncode == 0:
                self._call("-D", chain, *rule.split())
        for name in stood:
            self._call("-F", name)
            self._call("-X", name)
        return bool(stood)

    def _chain(self, name: str) -> list[str]:
        done = self._call("-S", name)
        return [line.strip() for line in done.stdout.splitlines() if line.startswith("-A ")]

    def _load(self, wanted: list[str]) -> bool:
        """Replace both chains in one atomic step, without touching others."""
        return self._restore(
            "\n".join(["*filter", f":{FORWARD_CHAIN} - [0:0]", f":{INPUT_CHAIN} - [0:0]", *wanted, "COMMIT", ""])
        )

    def _restore(self, text: str) -> bool:
        command = [f"{self._iptables}-restore", "--wait", "--noflush"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
        return done.returncode == 0

    def _ensure_jump(self, chain: str, rule: str) -> bool:
        if self._call("-C", chain, *rule.split()).returncode == 0:
            return True
        return self._call("-I", chain, "1", *rule.split()).returncode == 0

    def _call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        if self._iptables is None:
            return subprocess.CompletedProcess(arguments, 1, "", "iptables is missing")
        # a fixed program with rules made here
        command = [str(self._iptables), "--wait", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
