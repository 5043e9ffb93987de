"""SSH keys of the account and of one instance."""

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.errors import InvalidSshKey, SshKeyExists
from accounts.models import SshKey, User
from accounts.selectors import all_ssh_keys_of
from accounts.ssh_keys.services import add_ssh_key, fingerprint, parse_public_key, remove_ssh_key
from common.db.transactions import joining
from common.errors import NotFound
from instances.access.credentials import change_access
from vast.contracts.changes import own_instance
from vast.errors import InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import key_of, keys_of, number_of, numbers_of

if TYPE_CHECKING:
    from instances.models import Instance

_FILE_ENDS: Final = (".pub", ".pem")
_DIGITS: Final = 15


def key_rows(user: User) -> list[dict[str, Any]]:
    """Return the keys of the account, oldest first."""
    keys = list(all_ssh_keys_of(user).order_by("created_at", "pk"))
    numbers, owner = numbers_of(Kind.KEY, [key.pk for key in keys]), number_of(Kind.USER, user.pk)
    return [_row(key, numbers[key.pk], owner) for key in keys]


def add_key(*, user: User, text: object) -> dict[str, Any]:
    """Add a key of the account; one that is there already is returned."""
    key = _known(user, text) or _added(user, text)
    return _row(key, number_of(Kind.KEY, key.pk), number_of(Kind.USER, user.pk))


def replace_key(*, user: User, number: int, text: object) -> dict[str, Any]:
    """Put another key in place of one."""
    former = _own_key(user, number).pk
    with joining():
        row = add_key(user=user, text=text)
        if key_of(Kind.KEY, row["id"]) != former:
            remove_ssh_key(user=user, key_id=former)
    return row


def remove_key(*, user: User, number: int) -> None:
    remove_ssh_key(user=user, key_id=_own_key(user, number).pk)


def attach_key(*, user: User, number: int, text: object) -> None:
    """Let a key into an instance, and keep it in the account."""
    instance = own_instance(user, number)
    key = key_of(Kind.KEY, add_key(user=user, text=text)["id"])
    if not instance.all_keys:
        change_access(renter=user, instance_id=instance.pk, key_ids=[*dict.fromkeys([*_let_in(user, instance), key])])


def detach_key(*, user: User, number: int, named: str) -> None:
    """Keep a key out of an instance; from then on, new keys of the account have to be attached.

    Raises:
        InvalidArgs: the key isn't named by its number.
        NotFound: the account has no such key.
    """
    instance = own_instance(user, number)
    if not (named.isascii() and named.isdecimal() and len(named) <= _DIGITS):
        raise InvalidArgs("Name the key by its id in `vastai show ssh-keys`.")
    key = _own_key(user, int(named)).pk
    change_access(renter=user, instance_id=instance.pk, key_ids=[each for each in _let_in(user, instance) if each != key])


def _own_key(user: User, number: int) -> SshKey:
    key = keys_of(Kind.KEY, [number]).get(number)
    found = None if key is None else all_ssh_keys_of(user).filter(pk=key).first()
    if found is None:
        raise NotFound(f"You have no SSH key {number}. `vastai show ssh-keys` lists yours.")
    return found


def _let_in(user: User, instance: "Instance") -> list[UUID]:
    """Return the keys of the account that open the instance."""
    return [key.pk for key in all_ssh_keys_of(user) if instance.all_keys or key.public_key in instance.ssh_keys]


def _known(user: User, text: object) -> SshKey | None:
    _kind, blob, _comment = parse_public_key(_line(text))
    return all_ssh_keys_of(user).filter(fingerprint=fingerprint(blob)).first()


def _added(user: User, text: object) -> SshKey:
    try:
        return add_ssh_key(user=user, name="", public_key=_line(text))
    except SshKeyExists:
        known = _known(user, text)
        if known is None:
            raise
        return known


def _line(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidSshKey("ssh_key: Send one line of a .pub file.")
    line = text.strip()
    if line.endswith(_FILE_ENDS) and " " not in line:
        raise InvalidSshKey(f'The client sent the name of the file. Send its contents: "$(cat {line[:80]})".')
    return line


def _row(key: SshKey, number: int, owner: int) -> dict[str, Any]:
    return {
        "id": number,
        "user_id": owner,
        "name": key.name,
        "key": key.public_key,
        "public_key": key.public_key,
        "created_at": key.created_at.isoformat(),
        "deleted_at": None,
    }
