"""Domain errors of tokens, keys, teams and repeated requests."""

from common.errors import DomainError, Forbidden, InvalidInput, NotFound, TooOften


class MissingScope(Forbidden):
    code = "missing_scope"
    title = "The token lacks a scope"


class ConfirmationNeeded(Forbidden):
    code = "confirmation_needed"
    title = "This action requires re-authentication; use the console"


class IdempotencyConflict(DomainError):
    code = "idempotency_conflict"
    status = 422
    title = "This Idempotency-Key was already used for a different request"


class InvalidSshKey(InvalidInput):
    code = "invalid_ssh_key"
    title = "Not a valid SSH public key"


class SshKeyExists(DomainError):
    code = "ssh_key_exists"
    status = 409
    title = "This SSH key is already in your account"


class TooMany(DomainError):
    code = "too_many"
    status = 409
    title = "The limit of this account has been reached"


class InvitationExpired(DomainError):
    code = "invitation_expired"
    status = 409
    title = "This invitation has expired; ask for a new one"


class TooManyInvitations(TooOften):
    code = "too_many_invitations"
    title = "Too many invitations; wait before you send more"


class InvitedLately(TooOften):
    code = "invited_lately"
    title = "This address was just invited; the email is on its way"


class AlreadyMember(DomainError):
    code = "already_member"
    status = 409
    title = "This person is already a member of the team"


class LastOwner(DomainError):
    """Raised when a team would lose its last owner: somebody must be able to manage it."""

    code = "last_owner"
    status = 409
    title = "The last owner can't leave; make another member an owner first"


class DevicePending(DomainError):
    """Raised while the user has not decided yet; the codes of these four errors are those of RFC 8628."""

    code = "authorization_pending"
    title = "Authorization pending: the user has not allowed or denied this login yet"


class DeviceTooFast(DomainError):
    code = "slow_down"
    title = "Polling too fast; wait for the interval"


class DeviceDenied(DomainError):
    code = "access_denied"
    title = "The user denied this login"


class DeviceExpired(DomainError):
    code = "expired_token"
    title = "This login has expired or was already used; start a new one"


class DeviceUnknown(NotFound):
    code = "device_code_unknown"
    title = "Unknown login code; codes are valid for ten minutes"
