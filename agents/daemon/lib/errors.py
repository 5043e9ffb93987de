"""Errors that end work for an instance early."""


class Superseded(Exception):
    """The desired state changed during the work: stop it, the next plan starts from what is there."""


class Failed(Exception):
    """Work for an instance failed; `code` is one of the protocol's, `detail` a sentence for its owner.

    `about` is what it is about, where the control plane acts on that: a port's number, a volume's ID.
    """

    def __init__(self, code: str, detail: str, *, about: str = "") -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.about = about
