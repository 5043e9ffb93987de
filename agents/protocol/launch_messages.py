"""Parts of the messages about what runs in an instance beside what its image says."""

from dataclasses import dataclass, field
from typing import Literal

ReadyState = Literal["", "starting", "ready", "not_ready"]


@dataclass(frozen=True)
class ReadinessCheck:
    """Check inside the instance's network: a GET over HTTP, or a TCP connection.

    A status of 200 means ready, 204 starting, any other not ready. During the first `grace_seconds` of a run, what
    does not answer is starting.
    """

    type: Literal["http", "tcp"]
    port: int
    path: str = ""
    grace_seconds: int = 60


@dataclass(frozen=True)
class Launch:
    """What the renter runs. An empty value leaves that setting to the image.

    `secrets` and `on_start` must not be written to labels, logs or the journal. `secrets_digest` is keyed by the
    control plane; it stands for the secrets where a change of them has to be noticed.
    """

    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    secrets_digest: str = ""
    command: list[str] = field(default_factory=list)  # with its arguments: the container's Cmd
    entrypoint: list[str] = field(default_factory=list)
    workdir: str = ""
    user: str = ""
    shm_mb: int = 0  # 0: half of the memory
    on_start: str = field(default="", repr=False)  # script, run once after each start
    readiness: ReadinessCheck | None = None


@dataclass(frozen=True)
class StartScript:
    """State of the `on_start` script in the present run.

    `ended` has an exit code; 126 and 127 mean that the image has no shell. `lost`: the agent was restarted while it
    ran, so that its end is not known.
    """

    state: Literal["running", "ended", "lost"]
    exit_code: int | None = None
