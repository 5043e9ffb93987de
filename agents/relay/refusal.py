"""HTTP error of the relay with the stable code of its problem document."""

from starlette.exceptions import HTTPException


class RelayError(HTTPException):
    """Error raised by a route; `routes.render_problem` renders it."""

    def __init__(self, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.code = code
