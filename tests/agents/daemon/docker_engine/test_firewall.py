"""The rules in their order, and the name servers that stay reachable."""

from pathlib import Path

import pytest

from agents.daemon.docker_engine.firewall import BLOCKED, Firewall, jumps, resolvers_of, rules


def test_replies_first_then_names_then_the_walls() -> None:
    made = rules(["10.0.0.53"])
    forward = [rule for rule in made if rule.startswith("-A BERTH ")]
    assert "ESTABLISHED" in forward[0]
    names = [index for index, rule in enumerate(forward) if "--dport 53" in rule]
    drop_rules = [index for index, rule in enumerate(forward) if rule.endswith("-j DROP") and "-d " in rule]
    assert len(names) == 2 and len(drop_rules) == len(BLOCKED)
    assert max(names) < min(drop_rules)
    assert "25,465,587" in forward[-1]


def test_only_names_reach_the_host() -> None:
    inward = [rule for rule in rules([]) if rule.startswith("-A BERTH-IN ")]
    assert inward[-1] == "-A BERTH-IN -j DROP"
    assert all("--dport 53" in rule for rule in inward[1:-1])


def test_a_kernel_without_rate_limits_gets_the_rest() -> None:
    assert [rule for rule in rules([]) if "hashlimit" not in rule] == rules([], rate=False)


def test_every_bridge_of_ours_leads_into_our_chains() -> None:
    assert jumps() == [("DOCKER-USER", "-i berth+ -j BERTH"), ("INPUT", "-i berth+ -j BERTH-IN")]


def test_name_servers(tmp_path: Path) -> None:
    conf = tmp_path / "resolv.conf"
    conf.write_text("search x\nnameserver 127.0.0.53\nnameserver 10.0.0.53\nnameserver fe80::1\n")
    assert resolvers_of(conf) == ["10.0.0.53"]
    assert resolvers_of(tmp_path / "none") == []


def test_without_iptables_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert Firewall().assert_rules() is False
