"""Enrolment of a machine as a host, by one request with a one-use token."""

import logging
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.daemon import __version__, wiring
from agents.daemon.control_plane.http_client import Link
from agents.daemon.control_plane.own_address import own_address
from agents.daemon.docker_engine.fitness import check_engine
from agents.daemon.lib import config
from agents.daemon.lib.config import AgentConfig
from agents.daemon.telemetry import host_facts
from agents.protocol.messages import EnrolReply, EnrolRequest
from agents.protocol.version import SUPPORTED

logger = logging.getLogger(__name__)

NO_ADDRESS = (
    "This machine has no address of its own that renters could reach (it is behind NAT), so they come through the market's "
    "relay. If a router forwards the ports to it, enrol with --address NAME."
)


class AlreadyEnrolled(Exception):
    """The state folder holds an identity, which is never overwritten."""


class NotTheSameHost(Exception):
    """The market enrolled the machine as another host than the folder's, to which its containers belong."""


def enrol_again(state: Path, url: str, token: str) -> EnrolReply:
    """Enrol the folder's host again under a new key, after its last was revoked; keep the other settings.

    The new key is stored next to the old one until the market has accepted it, so that a retry is the same request.

    Raises:
        NotEnrolled: The folder holds no host.
        NotTheSameHost: The market answered with another host.
        LinkError: The market refused, or could not be reached.
    """
    chosen = config.load_config(state)
    key = config.load_or_make_key(state, config.NEXT_KEY_FILE)
    reply = _request_enrolment(state, replace(chosen, url=url), key, token)
    if reply.host_id != chosen.host_id:
        raise NotTheSameHost(f"Registered as {reply.host_id}, but the folder is {chosen.host_id}'s; use another.")
    config.activate_next_key(state)
    config.save_config(state, replace(chosen, url=url, name=reply.name))
    return reply


def enrol(state: Path, wanted: AgentConfig, token: str) -> EnrolReply:
    """Enrol this machine as a new host and store its configuration.

    Raises:
        AlreadyEnrolled: The folder holds a host already.
        EngineUnfit: The container engine cannot keep a promise to renters.
        EngineSilent: The container engine does not answer.
        EngineRefused: The container engine refuses a query.
        LinkError: The market refused, or could not be reached.
    """
    if config.is_enrolled(state):
        raise AlreadyEnrolled(f"{state} is enrolled already: choose another folder, run it, or give it a --new-key.")
    key = config.load_or_make_key(state)
    address = "" if wanted.behind_nat else wanted.address or own_address(wanted.url, wanted.listen)
    if not address and not wanted.behind_nat:
        logger.warning("%s", NO_ADDRESS)
    chosen = replace(
        wanted,
        gpu_seed=config.public_hex(key),  # keeps the simulated GPUs the same at every start
        address=address,
        behind_nat=not address,
        listen="::" if ":" in address and wanted.listen == AgentConfig.listen else wanted.listen,
    )
    reply = _request_enrolment(state, chosen, key, token)
    config.save_config(state, replace(chosen, host_id=reply.host_id, name=reply.name))
    return reply


def _request_enrolment(state: Path, chosen: AgentConfig, key: Ed25519PrivateKey, token: str) -> EnrolReply:
    if chosen.runtime == "docker":
        check_engine()
    with closing(wiring.build_runtime(state, chosen)) as runtime:
        shape = host_facts.gather(chosen, runtime, wiring.build_probe(chosen), state)
    link = Link(url=chosen.url, host_id="", key=key)
    try:
        return link.enrol(EnrolRequest(token, config.public_hex(key), __version__, list(SUPPORTED), shape))
    finally:
        link.close()
        link.close_waiting()
