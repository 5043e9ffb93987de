"""Errors with which the gateway refuses messages, each with its stable code.

`by_stranger` says that the message was refused before a signature was verified.
"""

from common.errors import DomainError


class Refused(DomainError):
    """Refusal of an agent's message; all refusals are audited."""

    by_stranger = False


class Unsigned(Refused):
    code = "unsigned"
    status = 401
    title = "The message has no signature"
    by_stranger = True


class Forged(Refused):
    code = "forged"
    status = 401
    title = "The signature does not match"
    by_stranger = True


class UnknownHost(Refused):
    code = "unknown_host"
    status = 401
    title = "This host has no registered agent"
    by_stranger = True


class Revoked(Refused):
    code = "revoked"
    status = 401
    title = "This agent's identity has been revoked"


class KeyRevoked(Refused):
    code = "key_revoked"
    status = 409
    title = "This key was revoked"
    by_stranger = True


class TooLarge(Refused):
    code = "too_large"
    status = 413
    title = "The message is too large"
    by_stranger = True


class Malformed(Refused):
    code = "malformed"
    status = 400
    title = "The message can't be parsed"


class NoCommonVersion(Refused):
    code = "version_mismatch"
    status = 426
    title = "No common protocol version"


class Replayed(Refused):
    code = "replayed"
    status = 409
    title = "A message with this or a higher sequence number was already accepted"


class Superseded(Refused):
    code = "superseded"
    status = 409
    title = "A newer start of this agent has taken over"


class TooManySpeedTests(Refused):
    code = "too_many_speed_tests"
    status = 429
    title = "Too many speed tests for this host"


class TwoAgents(Refused):
    code = "two_agents"
    status = 409
    title = "Two agents use this identity; the host is frozen"


class WrongMethod(DomainError):
    code = "method_not_allowed"
    status = 405
    title = "This method isn't allowed here"


class Unavailable(DomainError):
    code = "unavailable"
    status = 503
    title = "The database is unavailable; try again"
