"""Conversion of the Docker client's errors into the runtime's, and the address of the engine."""

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
def convert_engine_errors() -> Iterator[None]:
    """Convert errors of the Docker client in the block.

    Raises:
        EngineRefused: The engine answered with an error.
        EngineSilent: It did not answer.
    """
    try:
        yield
    except errors.NotFound as error:
        raise EngineRefused(str(error.explanation or error), missing=True) from error
    except errors.APIError as error:
        raise EngineRefused(str(error.explanation or error), conflict=error.status_code == HTTPStatus.CONFLICT) from error
    except (requests.exceptions.RequestException, errors.DockerException, OSError) as error:
        raise EngineSilent(str(error)) from error


def engine_address() -> dict[str, Any]:
    """Return the engine's address from the environment, as arguments for the client."""
    return {key: value for key, value in docker.utils.kwargs_from_env().items() if key in ("base_url", "tls")}


@contextmanager
def open_engine(timeout: float = READ_TIMEOUT) -> Iterator[Any]:
    """Open a client of its own for a few requests; errors in the block are converted too.

    Raises:
        EngineRefused: The engine answered with an error.
        EngineSilent: It did not answer.
    """
    with convert_engine_errors(), closing(docker.APIClient(version="auto", timeout=timeout, **engine_address())) as client:
        yield client
