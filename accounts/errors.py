"""Domain errors of tokens, keys, teams and repeated requests."""

from common.errors import DomainError, Forbidden, InvalidInput, NotFound, TooOften


class MissingScope(Forbidden):
    code = "missing_scope"
    title = "The token lacks a scope"


class ConfirmationNeeded(Forbidden):
    code = "confirmation_needed"
    title = "Do this in the console: it asks for your password or second factor again, which no token can give"


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


class InvitationExpired(DomainError):
    code = "invitation_expired"
    status = 409
    title = "This invitation has expired: ask for a new one"


class TooManyInvitations(TooOften):
    code = "too_many_invitations"
    title = "Too many invitations: wait before you send more"


class InvitedLately(TooOften):
    code = "invited_lately"
    title = "This address was invited a moment ago: its mail is on the way"


class AlreadyMember(DomainError):
    code = "already_member"
    status = 409
    title = "This person is in the team already"


class LastOwner(DomainError):
    """Raised when a team would lose its last owner: somebody must be able to manage it."""

    code = "last_owner"
    status = 409
    title = "The last owner can't leave: make someone else an owner first"


class DevicePending(DomainError):
    """Raised while nobody has answered; the codes of these four are those of RFC 8628."""

    code = "authorization_pending"
    title = "Nobody has allowed or refused this login yet: ask again after the interval"


class DeviceTooFast(DomainError):
    code = "slow_down"
    title = "Asked too soon: wait for the interval"


class DeviceDenied(DomainError):
    code = "access_denied"
    title = "This login was refused"


class DeviceExpired(DomainError):
    code = "expired_token"
    title = "This login has expired, or has its token already: start a new one"


class DeviceUnknown(NotFound):
    code = "device_code_unknown"
    title = "There is no login with this code. Codes are valid for ten minutes"
