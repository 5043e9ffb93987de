"""Checks a backend's configuration and stores it, the token apart from the rest."""

from dstack._internal.core.backends.base.configurator import (
    BackendRecord,
    Configurator,
    raise_invalid_credentials_error,
)
from dstack._internal.core.backends.berth.api_client import BerthClient, BerthRefusal
from dstack._internal.core.backends.berth.backend import BerthBackend
from dstack._internal.core.backends.berth.models import (
    BerthBackendConfig,
    BerthBackendConfigWithCreds,
    BerthConfig,
    BerthCreds,
    BerthStoredConfig,
)
from dstack._internal.core.models.backends.base import BackendType
from dstack._internal.core.models.common import validate_extra_ignore, validate_json_extra_ignore


class BerthConfigurator(Configurator[BerthBackendConfig, BerthBackendConfigWithCreds]):
    TYPE = BackendType.BERTH
    BACKEND_CLASS = BerthBackend

    def validate_config(self, config: BerthBackendConfigWithCreds, default_creds_enabled: bool) -> None:
        try:
            BerthClient(config.url, config.creds.token).instances()
        except BerthRefusal as error:
            if error.status in (401, 403):
                raise_invalid_credentials_error(fields=[["creds", "token"]], details=str(error))
            raise

    def create_backend(self, project_name: str, config: BerthBackendConfigWithCreds) -> BackendRecord:
        stored = validate_extra_ignore(BerthBackendConfig, config).model_dump()
        return BackendRecord(
            config=BerthStoredConfig(**stored).model_dump_json(),
            auth=BerthCreds.model_validate(config.creds).model_dump_json(),
        )

    def get_backend_config_with_creds(self, record: BackendRecord) -> BerthBackendConfigWithCreds:
        return validate_extra_ignore(BerthBackendConfigWithCreds, self._config(record))

    def get_backend_config_without_creds(self, record: BackendRecord) -> BerthBackendConfig:
        return validate_extra_ignore(BerthBackendConfig, self._config(record))

    def get_backend(self, record: BackendRecord) -> BerthBackend:
        return BerthBackend(self._config(record))

    def _config(self, record: BackendRecord) -> BerthConfig:
        stored = validate_json_extra_ignore(BerthStoredConfig, record.config).model_dump()
        creds = validate_json_extra_ignore(BerthCreds, record.auth)
        return BerthConfig(**stored, creds=creds)
