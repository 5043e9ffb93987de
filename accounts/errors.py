"""What can go wrong with tokens, keys and repeated requests."""

from common.errors import DomainError, Forbidden, InvalidInput


class MissingScope(Forbidden):
    code = "missing_scope"
    title = "The token lacks a scope"


class IdempotencyConflict(DomainError):
    code = "idempotency_conflict"
    status = 422
    title = "This Idempotency-Key was used for another request"


class InvalidSshKey(InvalidInput):
    code = "invalid_ssh_key"
    title = "This is not a usable SSH public key"


class SshKeyExists(DomainError):
    code = "ssh_key_exists"
    status = 409
    title = "This SSH key is already in your account"


class TooMany(DomainError):
    code = "too_many"
    status = 409
    title = "The limit of this account is reached"
