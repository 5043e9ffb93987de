"""Makes a machine a host: one exchange with a one-use token."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from agents.daemon import __version__, assembly, config, facts
from agents.daemon.config import AgentConfig
from agents.daemon.link import Link
from agents.protocol.messages import EnrolReply, EnrolRequest
from agents.protocol.version import SUPPORTED


class AlreadyEnrolled(Exception):
    """The state folder holds an identity, which is never overwritten."""


def enrol(state: Path, wanted: AgentConfig, token: str) -> EnrolReply:
    """Raises AlreadyEnrolled, LinkError, or what the container engine says."""
    if config.is_enrolled(state):
        raise AlreadyEnrolled(f"{state} is enrolled already: choose another folder, or run it.")
    key = config.load_or_make_key(state)
    chosen = replace(
        wanted,
        gpu_seed=config.public_hex(key),  # simulated GPUs are the same ones at every start
        address="" if wanted.behind_nat else wanted.address or facts.own_address(wanted.url, wanted.listen),
    )
    with closing(assembly.build_runtime(state, chosen)) as runtime:
        shape = facts.gather(chosen, runtime, assembly.build_probe(chosen), state)
    link = Link(url=chosen.url, host_id="", key=key)
    try:
        reply = link.enrol(EnrolRequest(token, config.public_hex(key), __version__, list(SUPPORTED), shape))
    finally:
        link.close()
        link.close_waiting()
    config.save_config(state, replace(chosen, host_id=reply.host_id, name=reply.name))
    return reply
