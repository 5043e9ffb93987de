"""Variables of an account, which every instance that is created through this API gets as secrets."""

from collections.abc import Collection
from typing import Final

from accounts.models import User
from common.db.transactions import use_case
from common.encryption import decrypt, encrypt
from common.errors import DomainError, NotFound
from instances.launch.settings import validate
from vast.constants import HIDDEN, VARIABLES_AT_MOST
from vast.errors import InvalidArgs
from vast.models import Variable

_ADVICE: Final = "Use `vastai update env-var` to change it."


class ExistingKey(DomainError):
    code = "existing_key"
    title = "This variable exists already"


class NonexistentKey(NotFound):
    code = "nonexistent_key"
    title = "There is no such variable"


class MaxSecrets(DomainError):
    code = "max_secrets"
    title = "The account has too many variables"


def shown_variables(user: User) -> dict[str, str]:
    """Return the names; the values are hidden."""
    return dict.fromkeys(Variable.objects.filter(user=user).order_by("name").values_list("name", flat=True), HIDDEN)


def has_variables(user: User) -> bool:
    return Variable.objects.filter(user=user).exists()


def add_variable(*, user: User, name: object, value: object) -> None:
    """Store a new variable.

    Raises InvalidInput for a name or value that no instance can have, ExistingKey or MaxSecrets.
    """
    key, text = _checked(name, value)
    with use_case():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # so that two requests can't pass the limit
        if Variable.objects.filter(user=user, name=key).exists():
            raise ExistingKey(f"The variable {key} exists. {_ADVICE}")
        if Variable.objects.filter(user=user).count() >= VARIABLES_AT_MOST:
            raise MaxSecrets(f"An account has at most {VARIABLES_AT_MOST} variables. Delete some first.")
        Variable.objects.create(user=user, name=key, sealed=encrypt(text))


def change_variable(*, user: User, name: object, value: object) -> None:
    """Store another value.

    Raises InvalidInput or NonexistentKey.
    """
    key, text = _checked(name, value)
    if not Variable.objects.filter(user=user, name=key).update(sealed=encrypt(text)):
        raise NonexistentKey(f"There is no variable {key}.")


def delete_variable(*, user: User, name: object) -> None:
    """Delete a variable; instances keep what they have.

    Raises NonexistentKey.
    """
    if not isinstance(name, str) or not Variable.objects.filter(user=user, name=name).delete()[0]:
        raise NonexistentKey("There is no such variable.")


def variables_for(user: User, *, without: Collection[str]) -> dict[str, str]:
    """Return names and values for a new instance, except those that its order names itself."""
    rows = Variable.objects.filter(user=user).exclude(name__in=list(without)).values_list("name", "sealed")
    return {name: decrypt(sealed) for name, sealed in rows}


def _checked(name: object, value: object) -> tuple[str, str]:
    if not isinstance(name, str) or not isinstance(value, str):
        raise InvalidArgs("key, value: Send two texts.")
    validate({"secrets": {name: value}})
    return name, value
