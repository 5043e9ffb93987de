"""Gates of SSH: their rules, and that nothing is done twice."""

import subprocess

from agents.daemon.docker_engine.ssh_allow_list import SshAllowList, chain_jumps, chain_name, chain_rules

BRIDGE, PORT = "berth0123456789", 20_022
PLACES = ("DOCKER-USER", "INPUT", "OUTPUT")


class Table:
    """As much of iptables as the allow list uses."""

    def __init__(self) -> None:
        self.chains: dict[str, list[str]] = {place: [] for place in PLACES}
        self.calls = 0
        self.works = True

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        self.calls += 1
        verb, chain, rule = words[0], words[1], " ".join(words[3:] if words[0] == "-I" else words[2:])
        rules = self.chains.get(chain)
        if not self.works or rules is None or (verb in ("-C", "-D") and rule not in rules):
            return subprocess.CompletedProcess(words, 1, "", "no")
        shown = "".join(f"{line}\n" if line.startswith("-A ") else f"-A {chain} {line}\n" for line in rules)
        match verb:
            case "-I":
                rules.insert(0, rule)
            case "-D":
                rules.remove(rule)
            case "-F":
                rules.clear()
            case "-X":
                del self.chains[chain]
        return subprocess.CompletedProcess(words, 0, shown if verb == "-S" else "", "")

    def load(self, text: str) -> bool:
        _, head, *rules, _ = text.strip().splitlines()
        if self.works:
            self.chains[head[1:].split()[0]] = rules
        return self.works


def test_rules_let_in_who_is_listed_and_drop_the_rest() -> None:
    chain = chain_name(BRIDGE)
    assert chain_rules(BRIDGE, ["203.0.113.9/32", "2001:db8::/32", "0.0.0.0/0"]) == [
        f"-A {chain} -j RETURN",
        f"-A {chain} -s 203.0.113.9/32 -j RETURN",
        f"-A {chain} -j DROP",
    ]
    assert chain_rules(BRIDGE, ["2001:db8::/32"]) == [f"-A {chain} -j DROP"]


def jumps() -> dict[str, list[str]]:
    return {place: [rule] for place, rule in chain_jumps(BRIDGE, PORT)}


NONE: dict[str, list[str]] = {place: [] for place in PLACES}


def test_a_gate_is_set_moved_put_back_and_taken_away() -> None:
    table = Table()
    ssh_allow_list, chain = SshAllowList(table.call, table.load), chain_name(BRIDGE)
    assert ssh_allow_list.allow(BRIDGE, [], PORT) and ssh_allow_list.allow(BRIDGE, [], PORT) and table.calls == 1, (
        "looked for once"
    )
    assert ssh_allow_list.allow(BRIDGE, ["203.0.113.0/24"], PORT)
    assert table.chains == {**jumps(), chain: chain_rules(BRIDGE, ["203.0.113.0/24"])}
    calls = table.calls
    assert ssh_allow_list.allow(BRIDGE, ["203.0.113.0/24"], PORT) and table.calls == calls
    assert ssh_allow_list.allow(BRIDGE, ["198.51.100.7/32"], PORT)
    assert table.chains[chain] == chain_rules(BRIDGE, ["198.51.100.7/32"])
    table.chains = {place: [] for place in PLACES}  # the engine began anew
    assert ssh_allow_list.assert_all() and {place: table.chains[place] for place in PLACES} == jumps()
    assert ssh_allow_list.allow(BRIDGE, [], PORT)
    assert table.chains == NONE
    ssh_allow_list.remove(BRIDGE)


def test_what_iptables_refuses_is_said_and_tried_again() -> None:
    table = Table()
    ssh_allow_list = SshAllowList(table.call, table.load)
    table.works = False
    assert not ssh_allow_list.allow(BRIDGE, ["203.0.113.0/24"], PORT)
    table.works = True
    assert ssh_allow_list.assert_all() and {place: table.chains[place] for place in PLACES} == jumps()


def test_a_gate_that_an_agent_before_this_one_has_set_is_opened() -> None:
    """The last address was taken off the list while the agent was away, or it was killed before it could heed that."""
    table = Table()
    SshAllowList(table.call, table.load).allow(BRIDGE, ["203.0.113.0/24"], PORT)
    ssh_allow_list = SshAllowList(table.call, table.load)
    assert ssh_allow_list.allow(BRIDGE, [], 0)
    assert table.chains == NONE
    assert ssh_allow_list.assert_all() and table.chains == NONE
