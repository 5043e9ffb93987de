"""The backend `berth`."""

from dstack._internal.core.backends.base.backend import Backend
from dstack._internal.core.backends.berth.compute import BerthCompute
from dstack._internal.core.backends.berth.models import BerthConfig
from dstack._internal.core.models.backends.base import BackendType


class BerthBackend(Backend):
    TYPE = BackendType.BERTH
    COMPUTE_CLASS = BerthCompute

    def __init__(self, config: BerthConfig):
        self.config = config
        self._compute = BerthCompute(config)

    def compute(self) -> BerthCompute:
        return self._compute
