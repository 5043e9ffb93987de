"""What can go wrong with money, in words that a person or a script can act on."""

from common.errors import DomainError


class InsufficientFunds(DomainError):
    code = "insufficient_funds"
    status = 402
    title = "The wallet does not hold enough spendable money"


class NoOpenHold(DomainError):
    """A meter needs money set aside before it may run."""

    code = "no_open_hold"
    status = 409
    title = "No money is held for this"


class LedgerIsAppendOnly(DomainError):
    code = "ledger_append_only"
    status = 409
    title = "Rows of the ledger are never changed or deleted"


class StillMetered(DomainError):
    """What a run costs is known when its meter is closed, not before."""

    code = "still_metered"
    status = 409
    title = "This is still being metered"
