"""Why work for an instance ends early: it is not wanted any more, or the instance cannot run."""


class Superseded(Exception):
    """The desired state changed while the work went on: leave it, the next plan starts from what is there."""


class Failed(Exception):
    """The instance cannot run: `code` is one of the protocol's FAILURES, `detail` a sentence for the renter."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
