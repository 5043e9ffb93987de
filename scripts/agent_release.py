"""Make a release of the host agent: its wheel and requirements with hashes, signed by an offline key.

    python -m scripts.agent_release key --key release.key
    python -m scripts.agent_release sign --key release.key --wheel dist/berth_agent-0.2.0-py3-none-any.whl --out release

The folder that `sign` writes goes to the market's machine, which serves it (AGENT_RELEASE_DIR); the key stays where
releases are made. Its public key, which `key` prints, is AGENT_RELEASE_KEY.
"""

import argparse
import hashlib
import os
import shutil
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agents.daemon.installation.releases import verify_release
from agents.protocol.release import (
    RELEASE_FILE,
    REQUIREMENTS_FILE,
    SIGNATURE_FILE,
    Release,
    signed_bytes,
    write_release,
)

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements" / "agent.txt"


def make_key(path: Path) -> str:
    """Write a new key to a file that only its owner can read, and return its public key in hex.

    Raises:
        FileExistsError: There is such a file.
    """
    key = Ed25519PrivateKey.generate()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(key.private_bytes_raw().hex())
    return _public(key)


def make_release(key_file: Path, wheel: Path, requirements: Path, out: Path) -> Release:
    """Write the folder that the market serves; the version is taken from the wheel's name."""
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key_file.read_text().strip()))
    release = Release(
        version=wheel.name.split("-")[1],
        wheel=wheel.name,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        requirements_sha256=hashlib.sha256(requirements.read_bytes()).hexdigest(),
    )
    content = write_release(release)
    signature = key.sign(signed_bytes(content)).hex()
    verify_release(content, signature, _public(key))  # an agent must accept what is written
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(wheel, out / wheel.name)
    shutil.copyfile(requirements, out / REQUIREMENTS_FILE)
    (out / SIGNATURE_FILE).write_text(signature)
    (out / RELEASE_FILE).write_bytes(content)
    return release


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.agent_release")
    commands = parser.add_subparsers(required=True, dest="command")
    key = commands.add_parser("key", help="make a release key and print its public half")
    sign = commands.add_parser("sign", help="make the folder that the market serves")
    for command in (key, sign):
        command.add_argument("--key", type=Path, required=True, help="file of the release key")
    sign.add_argument("--wheel", type=Path, required=True)
    sign.add_argument("--requirements", type=Path, default=REQUIREMENTS, help="default: requirements/agent.txt")
    sign.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    if options.command == "key":
        print(make_key(options.key))
    else:
        print(make_release(options.key, options.wheel, options.requirements, options.out).version)
    return 0


def _public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


if __name__ == "__main__":
    sys.exit(main())
