"""Claims on GPUs between check and start of a container: the agent's safeguard against overselling."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from agents.daemon.engine.interface import Runtime
from agents.daemon.lib.errors import Failed
from agents.protocol.messages import DesiredInstance


class GpuClaims:
    """GPUs claimed by containers that are about to start, so that none is given to two containers."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = threading.Lock()
        self._claims: dict[str, str] = {}

    @contextmanager
    def claimed(self, desired: DesiredInstance) -> Iterator[None]:
        with self._lock:
            rival = self._conflicting_gpu(desired)
            if rival is None:
                self._claims.update(dict.fromkeys(desired.gpu_uuids, desired.id))
        if rival is not None:
            raise Failed("gpu_conflict", f"GPU {rival} is held by another running container.")
        try:
            yield
        finally:
            with self._lock:
                for uuid in desired.gpu_uuids:
                    self._claims.pop(uuid, None)

    def _conflicting_gpu(self, desired: DesiredInstance) -> str | None:
        holders = {**self._runtime.running_gpus(), **self._claims} if desired.gpu_uuids else {}
        return next((uuid for uuid in desired.gpu_uuids if holders.get(uuid, desired.id) != desired.id), None)
