"""SSH keys: what is taken, what is refused with which advice."""

import base64
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from accounts.errors import InvalidSshKey, SshKeyExists, TooMany
from accounts.models import SshKey, User
from accounts.selectors import ssh_keys_of
from accounts.ssh_keys.services import add_ssh_key, fingerprint, parse_public_key, remove_ssh_key
from common.errors import NotFound


def line(key: PrivateKeyTypes) -> str:
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


ED25519 = line(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
KINDS: dict[str, Callable[[], PrivateKeyTypes]] = {
    "ssh-ed25519": ed25519.Ed25519PrivateKey.generate,
    "ssh-rsa": lambda: rsa.generate_private_key(65537, 2048),
    "ecdsa-sha2-nistp256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ecdsa-sha2-nistp384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ecdsa-sha2-nistp521": lambda: ec.generate_private_key(ec.SECP521R1()),
}


def packed(*fields: bytes) -> str:
    return base64.b64encode(b"".join(len(field).to_bytes(4, "big") + field for field in fields)).decode()


@pytest.mark.parametrize("kind", KINDS)
def test_good_keys_are_kept_without_their_comment(alice: User, kind: str) -> None:
    text = line(KINDS[kind]())
    key = add_ssh_key(user=alice, name="", public_key=f"  {text} alice@laptop \n")
    assert (key.kind, key.public_key, key.name) == (kind, text, "alice@laptop")
    assert key.fingerprint.startswith("SHA256:")


def test_a_hardware_key_is_taken() -> None:
    raw = bytes(ed25519.Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    kind = "sk-ssh-ed25519@openssh.com"
    assert parse_public_key(f"{kind} {packed(kind.encode(), raw, b'ssh:')}")[0] == kind


def test_the_fingerprint_is_the_one_that_openssh_prints(tmp_path: Path) -> None:
    _, blob, _ = parse_public_key(ED25519)
    assert fingerprint(blob) == "SHA256:XYzF4/AZeqBYaQAKo1vC8LnkPMqjWmHgsnjZqDVVDkc" or shutil.which("ssh-keygen")
    if tool := shutil.which("ssh-keygen"):
        file = tmp_path / "key.pub"
        file.write_text(ED25519)
        printed = subprocess.run([tool, "-lf", str(file)], capture_output=True, text=True, check=True).stdout
        assert fingerprint(blob) in printed


REFUSED = {
    "empty": "",
    "private_key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----",
    "many_lines": f"{ED25519}\n{ED25519}",
    "options": f'command="rm -rf /" {ED25519}',
    "certificate": "ssh-ed25519-cert-v01@openssh.com AAAA",
    "too_long": "ssh-ed25519 " + "A" * 20_000,
}
MALFORMED = {
    "words": "hello world",
    "kind alone": "ssh-ed25519",
    "not base64": "ssh-ed25519 !!!!",
    "cut": ED25519[:-8],
    "kind of another key": "ssh-rsa " + ED25519.split()[1],
    "blob of another kind": "ssh-ed25519 " + packed(b"ssh-rsa", b"x"),
    "trailing bytes": "ssh-ed25519 " + packed(b"ssh-ed25519", bytes(32), b"more"),
    "empty blob": "ssh-ed25519 =",
    "not ascii": "ssh-ed25519 ééé",
}


@pytest.mark.parametrize("code", REFUSED)
def test_other_things_are_refused_with_their_own_code(alice: User, code: str) -> None:
    with pytest.raises(InvalidSshKey) as refusal:
        add_ssh_key(user=alice, name="x", public_key=REFUSED[code])
    assert [(error.field, error.code) for error in refusal.value.errors] == [("public_key", code)]
    assert refusal.value.code == "invalid_ssh_key"
    assert not SshKey.objects.exists()


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_keys_are_refused(case: str) -> None:
    with pytest.raises(InvalidSshKey) as refusal:
        parse_public_key(MALFORMED[case])
    assert refusal.value.errors[0].code == "malformed"
    assert "ssh-keygen" in refusal.value.detail


def test_every_private_form_is_refused_without_being_repeated() -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    for form in (PrivateFormat.OpenSSH, PrivateFormat.PKCS8):
        text = key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()
        with pytest.raises(InvalidSshKey) as refusal:
            parse_public_key(text)
        assert text.splitlines()[1] not in refusal.value.detail


def test_weak_keys_are_refused() -> None:
    small = line(rsa.generate_private_key(65537, 1024))
    old = dsa.generate_private_key(2048).public_key().public_numbers()
    numbers = (old.parameter_numbers.p, old.parameter_numbers.q, old.parameter_numbers.g, old.y)
    blob = packed(b"ssh-dss", *(n.to_bytes(n.bit_length() // 8 + 1, "big") for n in numbers))
    for text, message in ((small, "1024"), (f"ssh-dss {blob}", "DSA")):
        with pytest.raises(InvalidSshKey, match=message) as refusal:
            parse_public_key(text)
        assert refusal.value.errors[0].code == "too_weak"


@given(st.text())
def test_fault_097_any_text_is_either_a_clean_line_or_refused(text: str) -> None:
    try:
        kind, blob, comment = parse_public_key(text)
    except InvalidSshKey:
        return
    assert f"{kind} {base64.b64encode(blob).decode()}".isprintable()
    assert comment.isprintable()


@given(st.text())
def test_fault_097_a_comment_never_carries_control_characters(comment: str) -> None:
    try:
        _, _, kept = parse_public_key(f"{ED25519} {comment}")
    except InvalidSshKey:
        return
    assert kept.isprintable()


def test_a_key_is_in_an_account_once(alice: User, bob: User) -> None:
    add_ssh_key(user=alice, name="x", public_key=ED25519)
    with pytest.raises(SshKeyExists):
        add_ssh_key(user=alice, name="y", public_key=f"{ED25519} again")
    add_ssh_key(user=bob, name="x", public_key=ED25519)


def test_an_account_has_a_limit_of_keys(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.ssh_keys.services.MAX_SSH_KEYS", 0)
    with pytest.raises(TooMany):
        add_ssh_key(user=alice, name="x", public_key=ED25519)


def test_keys_are_found_and_removed_by_their_owner_only(alice: User, mallory: User) -> None:
    first = add_ssh_key(user=alice, name="x", public_key=ED25519)
    second = add_ssh_key(user=alice, name="y", public_key=line(ed25519.Ed25519PrivateKey.generate()))
    assert ssh_keys_of(alice, None) == [second, first]
    assert ssh_keys_of(alice, [first.pk, second.pk, first.pk]) == [first, second]
    assert ssh_keys_of(alice, []) == []
    assert ssh_keys_of(mallory, None) == []
    with pytest.raises(NotFound, match=first.pk.hex):
        ssh_keys_of(mallory, [first.pk])
    with pytest.raises(NotFound):
        remove_ssh_key(user=mallory, key_id=first.pk)
    remove_ssh_key(user=alice, key_id=first.pk)
    assert ssh_keys_of(alice, None) == [second]
