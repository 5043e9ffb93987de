"""Configuration of the backend `berth`: a market's address, a token, and which offers may be used."""

from typing import Annotated, Literal

from dstack._internal.core.models.common import CoreModel
from pydantic import Field

DEFAULT_SEARCH = "not simulated"


class BerthTokenCreds(CoreModel):
    type: Annotated[Literal["token"], Field(description="The type of credentials")] = "token"
    token: Annotated[
        str,
        Field(description="An API token with the scopes of renting and connecting", min_length=1),
    ]


AnyBerthCreds = BerthTokenCreds
BerthCreds = AnyBerthCreds


class BerthBackendConfig(CoreModel):
    type: Annotated[Literal["berth"], Field(description="The type of backend")] = "berth"
    url: Annotated[str, Field(description="The address of the market, such as `https://berth.example.org`")]
    regions: Annotated[list[str] | None, Field(description="The list of regions. Omit to use all regions")] = None
    search: Annotated[
        str,
        Field(description="A line of the market's search that offers have to match, such as `verified reliability>0.95`"),
    ] = DEFAULT_SEARCH


class BerthBackendConfigWithCreds(BerthBackendConfig):
    creds: Annotated[AnyBerthCreds, Field(description="The credentials")]


class BerthStoredConfig(BerthBackendConfig):
    pass


class BerthConfig(BerthStoredConfig):
    creds: AnyBerthCreds
