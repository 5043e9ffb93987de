"""SSH public keys, parsed before they are stored, so that authorized_keys files get nothing else."""

import base64
import binascii
import hashlib
from uuid import UUID

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.constants import MAX_SSH_KEY_CHARS, MAX_SSH_KEYS, MIN_RSA_BITS
from accounts.errors import InvalidSshKey, SshKeyExists, TooMany
from accounts.event_log.services import record_event
from accounts.models import SshKey, User
from accounts.selectors import all_ssh_keys_of
from common.db.transactions import use_case
from common.errors import FieldError, NotFound
from common.jobs import enqueue

_KINDS = frozenset(
    {
        "ssh-ed25519",
        "ssh-rsa",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    }
)
_ADVICE = gettext_lazy("Create one with ssh-keygen -t ed25519 and paste the contents of the .pub file.")


def add_ssh_key(*, user: User, name: str, public_key: str) -> SshKey:
    """Store a key; its comment is dropped, or becomes the name when none is given.

    Raises:
        InvalidSshKey: the text is not an accepted public key.
        TooMany: the account has too many keys.
    """
    kind, blob, comment = parse_public_key(public_key)
    encoded = base64.b64encode(blob).decode()
    with use_case():
        if all_ssh_keys_of(user).count() >= MAX_SSH_KEYS:
            raise TooMany(f"An account has at most {MAX_SSH_KEYS} SSH keys; remove some first.")
        try:
            with transaction.atomic():
                added = SshKey.objects.create(
                    user=user,
                    name=name.strip() or comment or kind,
                    kind=kind,
                    public_key=f"{kind} {encoded}",
                    fingerprint=fingerprint(blob),
                )
        except IntegrityError as error:
            raise SshKeyExists from error
        record_event(user_id=user.pk, kind="key.added", subject=f"{added.name} {added.fingerprint}")
        _notify_instances(user)
    return added


def remove_ssh_key(*, user: User, key_id: UUID) -> None:
    """Remove a key: within seconds it opens no new session; open sessions stay open."""
    with use_case():
        key = SshKey.objects.filter(pk=key_id, user=user).first()
        if key is None:
            raise NotFound("This SSH key doesn't exist.")
        record_event(user_id=user.pk, kind="key.removed", subject=f"{key.name} {key.fingerprint}")
        key.delete()
        _notify_instances(user)


def _notify_instances(user: User) -> None:
    """Enqueue the update of instances; the sweep `instances.follow_all_keys` finds the same work."""
    enqueue("instances.follow_keys", user.pk.hex)


def fingerprint(blob: bytes) -> str:
    """Return the fingerprint as `ssh-keygen -l` prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def parse_public_key(text: str) -> tuple[str, bytes, str]:
    """Return kind, key blob and comment of one public key line.

    Raises:
        InvalidSshKey: it is not an accepted public key; the error says what to do.
    """
    text = text.strip()
    _refuse_other_things(text)
    kind, encoded, comment = [*text.split(None, 2), "", "", ""][:3]
    _check_kind(kind, text)
    try:
        blob = base64.b64decode(encoded, validate=True)
        key = load_ssh_public_key(f"{kind} {encoded}".encode())
    except (ValueError, binascii.Error, UnsupportedAlgorithm) as error:
        raise _invalid(
            "malformed", _("The key is damaged or incomplete. Copy the whole line. %(advice)s") % {"advice": _ADVICE}
        ) from error
    if isinstance(key, RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        raise _invalid(
            "too_weak",
            _("RSA keys need at least %(least)s bits; this one has %(bits)s. %(advice)s")
            % {"least": MIN_RSA_BITS, "bits": key.key_size, "advice": _ADVICE},
        )
    printable = "".join(character for character in comment if character.isprintable())
    return kind, blob, printable[:80]


def _refuse_other_things(text: str) -> None:
    if "PRIVATE KEY" in text:
        raise _invalid("private_key", _("This is a private key: never share it. Paste the .pub file instead."))
    if not text:
        raise _invalid("empty", _("Paste a public key. %(advice)s") % {"advice": _ADVICE})
    if len(text) > MAX_SSH_KEY_CHARS:
        raise _invalid("too_long", _("A public key can have at most %(most)s characters.") % {"most": MAX_SSH_KEY_CHARS})
    if len(text.splitlines()) > 1 or "\0" in text:
        raise _invalid("many_lines", _("Paste one public key on a single line."))


def _check_kind(kind: str, text: str) -> None:
    if kind in _KINDS:
        return
    if kind == "ssh-dss":
        raise _invalid("too_weak", _("DSA keys are no longer secure. %(advice)s") % {"advice": _ADVICE})
    if "-cert-" in kind:
        raise _invalid("certificate", _("This is a certificate, not a key. %(advice)s") % {"advice": _ADVICE})
    if any(word in _KINDS for word in text.split()):
        raise _invalid("options", _("Remove the options before the key: the line must start with the key type."))
    raise _invalid(
        "malformed", _("A public key starts with its type, such as ssh-ed25519. %(advice)s") % {"advice": _ADVICE}
    )


def _invalid(code: str, detail: str) -> InvalidSshKey:
    return InvalidSshKey(detail, errors=[FieldError("public_key", code, detail)])
