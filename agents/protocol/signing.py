"""What an agent signs: every part of a request that must not be forged, replayed or moved to another host."""

import hashlib
from dataclasses import dataclass

HOST_HEADER = "Berth-Host"
BOOT_HEADER = "Berth-Boot"
SEQUENCE_HEADER = "Berth-Sequence"
SIGNATURE_HEADER = "Berth-Signature"


@dataclass(frozen=True)
class Envelope:
    """`boot_id` is new at each start of the agent; `sequence` grows by one with each request of that boot."""

    host_id: str
    boot_id: str
    sequence: int

    def signing_input(self, method: str, path: str, body: bytes) -> bytes:
        """The bytes under the Ed25519 signature (RFC 8032); the signature travels as lower-case hex."""
        digest = hashlib.sha256(body).hexdigest()
        return "\n".join(("berth-agent-v1", method, path, self.host_id, self.boot_id, str(self.sequence), digest)).encode()
