"""One-shot commands: which call brings the result, and when it is there."""

from typing import Final

from berth import models
from berth._core.calls import Call
from berth._core.wire import path_part

END_WITHIN_S: Final = 90.0  # beyond the command's own time; the market gives up on a silent host after 60 s


def result_call(instance_id: str, command_id: str) -> Call[models.CommandOut]:
    path = f"/api/v1/instances/{path_part(instance_id)}/exec/{path_part(command_id)}"
    return Call("GET", path, models.CommandOut)


def has_ended(row: models.CommandOut) -> bool:
    return row.state != "pending"
