"""Error that keeps the stack from starting."""


class StartFailed(Exception):
    """The stack cannot start; the text says why and what to do."""
