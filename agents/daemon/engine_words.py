"""A Docker Engine's errors in the runtime's own words."""

from collections.abc import Iterator
from contextlib import contextmanager

import requests.exceptions
from docker import errors

from agents.daemon.runtime import EngineRefused, EngineSilent


@contextmanager
def engine_answers() -> Iterator[None]:
    """Raises EngineRefused for an answer that is no, EngineSilent for none."""
    try:
        yield
    except errors.NotFound as error:
        raise EngineRefused(str(error.explanation or error), missing=True) from error
    except errors.APIError as error:
        raise EngineRefused(str(error.explanation or error)) from error
    except (requests.exceptions.RequestException, errors.DockerException, OSError) as error:
        raise EngineSilent(str(error)) from error
