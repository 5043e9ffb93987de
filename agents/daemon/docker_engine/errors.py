"""A Docker Engine's errors in the runtime's own words, and where the engine is."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from typing import Any, Final

import docker
import requests.exceptions
from docker import errors

from agents.daemon.engine.interface import EngineRefused, EngineSilent

READ_TIMEOUT: Final = 5.0


@contextmanager
def engine_answers() -> Iterator[None]:
    """Raises EngineRefused for an answer that is no, EngineSilent for none."""
    try:
        yield
    except errors.NotFound as error:
        raise EngineRefused(str(error.explanation or error), missing=True) from error
    except errors.APIError as error:
        raise EngineRefused(str(error.explanation or error), conflict=error.status_code == HTTPStatus.CONFLICT) from error
    except (requests.exceptions.RequestException, errors.DockerException, OSError) as error:
        raise EngineSilent(str(error)) from error


def engine_place() -> dict[str, Any]:
    """Where the environment says that the engine is, as the client takes it."""
    return {key: value for key, value in docker.utils.kwargs_from_env().items() if key in ("base_url", "tls")}


@contextmanager
def open_engine(timeout: float = READ_TIMEOUT) -> Iterator[Any]:
    """A client of its own for some questions. Raises EngineSilent or EngineRefused, in the block too."""
    with engine_answers(), closing(docker.APIClient(version="auto", timeout=timeout, **engine_place())) as client:
        yield client
