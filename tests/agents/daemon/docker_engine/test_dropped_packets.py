"""Packet rules that keep every connection out, and the many that only may."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.docker_engine.dropped_packets import Packet, is_dropped, outside_interfaces

PACKET = Packet(frozenset({"eth0"}), "berth0", "10.0.0.2", 22, 21000)
ENGINE = (
    "-P FORWARD DROP",
    "-A FORWARD -j DOCKER-USER",
    "-A FORWARD -j DOCKER-ISOLATION-STAGE-1",
    "-A FORWARD -o berth0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    "-A FORWARD -o berth0 -j DOCKER",
    "-A FORWARD -i berth0 ! -o berth0 -j ACCEPT",
    "-A FORWARD -i berth0 -o berth0 -j DROP",
    "-A DOCKER -d 10.0.0.2/32 ! -i berth0 -o berth0 -p tcp -m tcp --dport 22 -j ACCEPT",
    "-A DOCKER-ISOLATION-STAGE-1 -i docker0 ! -o docker0 -j DOCKER-ISOLATION-STAGE-2",
    "-A DOCKER-ISOLATION-STAGE-1 -i berth0 ! -o berth0 -j DOCKER-ISOLATION-STAGE-2",
    "-A DOCKER-ISOLATION-STAGE-1 -j RETURN",
    "-A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP",
    "-A DOCKER-ISOLATION-STAGE-2 -o berth0 -j DROP",
    "-A DOCKER-ISOLATION-STAGE-2 -j RETURN",
    "-A BERTH -d 10.0.0.0/8 -j DROP",
    "-A BERTH-X -j DROP",
    "-A DOCKER-USER -o berth0 -p tcp -m tcp --dport 22 -j BERTH-X",  # who may come to SSH: as its renter wants it
    "-A DOCKER-USER -i berth+ -j BERTH",
)
LAST = ("-A DOCKER-USER -j RETURN",)
NEWER = (  # Docker 28
    "-P FORWARD DROP",
    "-A FORWARD -j DOCKER-USER",
    "-A FORWARD -j DOCKER-FORWARD",
    "-A DOCKER-FORWARD -j DOCKER-CT",
    "-A DOCKER-FORWARD -j DOCKER-BRIDGE",
    "-A DOCKER-CT -o berth0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
    "-A DOCKER-BRIDGE -o berth0 -j DOCKER",
    "-A DOCKER -d 10.0.0.2/32 ! -i berth0 -o berth0 -p tcp -m tcp --dport 22 -j ACCEPT",
    "-A DOCKER ! -i berth0 -o berth0 -j DROP",
)


@pytest.mark.parametrize("rules", [(*ENGINE, *LAST), NEWER])
def test_the_engines_own_rules_and_ours_drop_nothing(rules: tuple[str, ...]) -> None:
    assert not is_dropped(rules, PACKET)


@pytest.mark.parametrize(
    "rule",
    [
        "-A DOCKER-USER -j DROP",
        "-A DOCKER-USER -o berth0 -j REJECT --reject-with icmp-port-unreachable",
        "-A DOCKER-USER -o berth+ -j DROP",
        "-A DOCKER-USER -i eth0 -j DROP",
        "-A DOCKER-USER ! -i lo -j DROP",
        "-A DOCKER-USER -d 10.0.0.0/24 -p tcp -m tcp --dport 20:30 -j DROP",
        "-A DOCKER-USER -p tcp -m multiport --dports 80,22 -j DROP",
        '-A DOCKER-USER -p tcp -m conntrack --ctorigdstport 21000 --ctdir ORIGINAL -m comment --comment "not in" -j DROP',
        "-A DOCKER-USER -m conntrack --ctstate NEW -j DROP",
        "-A DOCKER-USER ! -p udp -j DROP",
        "-A FORWARD -j DROP",
    ],
)
def test_a_rule_that_meets_all_of_them_drops_them(rule: str) -> None:
    assert is_dropped((rule, *ENGINE, *LAST), PACKET)
    assert is_dropped(("-A DOCKER-USER -s 203.0.113.0/24 -j RETURN", rule, *ENGINE), PACKET) == rule.startswith("-A FORWARD")


@pytest.mark.parametrize(
    "rule",
    [
        "-A DOCKER-USER -s 203.0.113.7/32 -j DROP",
        "-A DOCKER-USER ! -s 192.168.0.0/16 -j DROP",
        "-A DOCKER-USER -i eth1 -j DROP",
        "-A DOCKER-USER -i berth0 -j DROP",
        "-A DOCKER-USER -o berth1 -j DROP",
        "-A DOCKER-USER ! -o berth0 -j DROP",
        "-A DOCKER-USER -d 10.0.0.3/32 -j DROP",
        "-A DOCKER-USER -p tcp -m tcp --dport 23 -j DROP",
        "-A DOCKER-USER -p udp -j DROP",
        "-A DOCKER-USER -m conntrack --ctstate INVALID -j DROP",
        "-A DOCKER-USER -m set --match-set blocked src -j DROP",
        "-A DOCKER-USER -m statistic --mode random --probability 0.5 -j DROP",
        "-A DOCKER-USER -o berth0 -j LOG --log-prefix DROP",
        "-A DOCKER-USER -o berth0 -j ACCEPT",
    ],
)
def test_a_rule_that_may_let_somebody_in_proves_nothing(rule: str) -> None:
    assert not is_dropped((rule, *ENGINE, *LAST), PACKET)


def test_what_comes_before_decides() -> None:
    drop, engine = "-A DOCKER-USER -o berth0 -j DROP", (*ENGINE, *LAST)
    assert not is_dropped(("-A DOCKER-USER -j RETURN", drop, *engine), PACKET)
    assert not is_dropped(("-A DOCKER-USER -s 192.0.2.0/24 -j ACCEPT", drop, *engine), PACKET)
    assert not is_dropped(("-A DOCKER-USER -j MINE", "-A MINE -s 192.0.2.0/24 -j ACCEPT", drop, *engine), PACKET)
    assert not is_dropped(("-A DOCKER-USER -s 192.0.2.0/24 -j MINE", "-A MINE -j DROP", *engine), PACKET)
    assert is_dropped(("-A DOCKER-USER -j MINE", "-A MINE -o berth0 -j DROP", *engine), PACKET)
    assert is_dropped(("-A DOCKER-USER -j LOG", drop, *engine), PACKET)
    assert not is_dropped(("-A FORWARD -j ROUND", "-A ROUND -j ROUND"), PACKET), "a chain that leads into itself"


def test_any_interface_but_the_engines_own_may_lead_outside(tmp_path: Path) -> None:
    names = ("lo", "eth0", "br-ex", "wg0", "docker0", "br-0123456789ab", "veth1f2e", "berth0")
    (tmp_path / "net").mkdir()
    (tmp_path / "net/dev").write_text("Inter-|\n face |\n" + "".join(f"  {name}: 1 2 3\n" for name in names))
    assert outside_interfaces(tmp_path) == {"eth0", "br-ex", "wg0"}


@pytest.mark.parametrize("rule", ["-A DOCKER-USER -i eth0 -j DROP", "-A DOCKER-USER ! -i br-ex -j DROP"])
def test_with_two_ways_in_a_rule_for_one_proves_nothing(rule: str) -> None:
    two = replace(PACKET, interfaces=frozenset({"eth0", "br-ex"}))
    assert not is_dropped((rule, *ENGINE, *LAST), two)
    assert is_dropped(("-A DOCKER-USER -o berth0 -j DROP", *ENGINE, *LAST), two)


@pytest.mark.parametrize(
    "rule", ["-d 10.0.0.0/255.0.255.0", "-p tcp --dport ssh", '-m comment --comment "half', "-d nonsense"]
)
def test_a_rule_that_cannot_be_read_proves_nothing(rule: str) -> None:
    assert not is_dropped((f"-A DOCKER-USER {rule} -j DROP", *ENGINE, *LAST), PACKET)


def test_chains_that_lead_to_each_other_twice_are_followed_once() -> None:
    chains = [f"-A C{n} -s 192.0.2.{m} -j C{n + 1}" for n in range(30) for m in (1, 2)]
    assert not is_dropped(("-A DOCKER-USER -j C0", *chains, *ENGINE, *LAST), PACKET)
