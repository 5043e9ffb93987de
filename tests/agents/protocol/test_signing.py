"""What is under an agent's signature: every part, each in its place."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from agents.protocol.signing import Envelope

ENVELOPE = Envelope("0190a1b2", "boot", 7)


def test_the_signing_input_is_what_was_agreed() -> None:
    assert ENVELOPE.signing_input("POST", "/agent/v1/sync", b"{}") == (
        b"berth-agent-v1\nPOST\n/agent/v1/sync\n0190a1b2\nboot\n7\n"
        b"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )


@given(st.binary(), st.integers(0, 2**63), st.text("0123456789abcdef", max_size=32))
def test_no_part_can_be_changed(body: bytes, sequence: int, host: str) -> None:
    signed = ENVELOPE.signing_input("POST", "/agent/v1/sync", b"{}")
    changed = replace(ENVELOPE, sequence=sequence, host_id=host)
    same = (body, sequence, host) == (b"{}", 7, "0190a1b2")
    assert (changed.signing_input("POST", "/agent/v1/sync", body) == signed) is same
    assert ENVELOPE.signing_input("GET", "/agent/v1/sync", b"{}") != signed
    assert ENVELOPE.signing_input("POST", "/agent/v1/enrol", b"{}") != signed
