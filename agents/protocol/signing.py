"""Signature input of an agent's request; it prevents forgery, replay and use for another host."""

import hashlib
from dataclasses import dataclass

HOST_HEADER = "Berth-Host"
BOOT_HEADER = "Berth-Boot"
SEQUENCE_HEADER = "Berth-Sequence"
SIGNATURE_HEADER = "Berth-Signature"


@dataclass(frozen=True)
class Envelope:
    """Identity of a request: `boot_id` is new at each start of the agent, `sequence` counts from there."""

    host_id: str
    boot_id: str
    sequence: int

    def signing_input(self, method: str, path: str, body: bytes) -> bytes:
        """Return the bytes for the Ed25519 signature (RFC 8032), which is sent as lower-case hex."""
        digest = hashlib.sha256(body).hexdigest()
        return "\n".join(("berth-agent-v1", method, path, self.host_id, self.boot_id, str(self.sequence), digest)).encode()
