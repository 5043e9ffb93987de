"""Runs dstack's jobs in instances of a Berth market: one container for each job, with dstack's runner as its program."""

from decimal import Decimal
from typing import Any

import gpuhunt
from dstack._internal.core.backends.base.authorized_keys import build_authorized_keys
from dstack._internal.core.backends.base.compute import (
    Compute,
    ComputeWithFilteredOffersCached,
    generate_unique_instance_name_for_job,
    get_docker_commands,
)
from dstack._internal.core.backends.base.offers import get_catalog_offers
from dstack._internal.core.backends.berth.api_client import BerthClient, BerthRefusal, BerthUnreachable
from dstack._internal.core.backends.berth.models import BerthConfig
from dstack._internal.core.consts import DSTACK_RUNNER_SSH_PORT
from dstack._internal.core.errors import ComputeError, NoCapacityError, NotYetTerminated, ProvisioningError
from dstack._internal.core.models.backends.base import BackendType
from dstack._internal.core.models.common import CoreModel, validate_extra_ignore
from dstack._internal.core.models.instances import (
    InstanceAvailability,
    InstanceOfferWithAvailability,
    InstanceRuntime,
)
from dstack._internal.core.models.placement import PlacementGroup
from dstack._internal.core.models.runs import Job, JobProvisioningData, Requirements, Run
from dstack._internal.core.models.volumes import Volume
from dstack._internal.utils.logging import get_logger
from gpuhunt.providers.berth import BerthProvider

logger = get_logger(__name__)

NAME_CHARS = 60
ENDED = ("failed", "releasing", "gone")
NOT_FOUND, CONFLICT = 404, 409


class BerthOfferData(CoreModel):
    """What the catalog says of an offer beside dstack's own fields."""

    offer: str
    gpu_count: int
    billing_mode: str


class BerthCompute(ComputeWithFilteredOffersCached, Compute):
    def __init__(self, config: BerthConfig):
        super().__init__()
        self.config = config
        self.client = BerthClient(config.url, config.creds.token)
        self._catalog = gpuhunt.Catalog(balance_resources=False, auto_reload=False)
        self._catalog.add_provider(BerthProvider(config.url, config.search))

    def get_offers_by_requirements(
        self, requirements: Requirements, full_offers: bool, unallocated_resources: bool
    ) -> list[InstanceOfferWithAvailability]:
        offers = get_catalog_offers(
            backend=BackendType.BERTH,
            locations=self.config.regions or None,
            requirements=requirements,
            catalog=self._catalog,
        )
        return [
            offer.with_availability(availability=InstanceAvailability.AVAILABLE, instance_runtime=InstanceRuntime.RUNNER)
            for offer in offers
        ]

    def run_job(
        self,
        run: Run,
        job: Job,
        instance_offer: InstanceOfferWithAvailability,
        project_ssh_public_key: str,
        project_ssh_private_key: str,
        volumes: list[Volume],
        placement_group: PlacementGroup | None,
        requirements: Requirements,
        extra_authorized_keys: list[str],
    ) -> JobProvisioningData:
        if job.job_spec.registry_auth is not None:
            raise ComputeError("Save the registry's login in the market (POST /registries); dstack's isn't passed on.")
        name = generate_unique_instance_name_for_job(run, job, max_length=NAME_CHARS)
        commands = get_docker_commands(build_authorized_keys(project_ssh_public_key, extra_authorized_keys))
        instance = self._rent(name, job.job_spec.image_name, " && ".join(commands), instance_offer)
        return JobProvisioningData(
            backend=instance_offer.backend,
            instance_type=instance_offer.instance,
            instance_id=instance["id"],
            region=instance_offer.region,
            price=instance_offer.price,
            username="root",
            dockerized=False,
        )

    def _rent(self, name: str, image: str, script: str, instance_offer: InstanceOfferWithAvailability) -> dict[str, Any]:
        """Order by a quote that costs no more than the offer did; every call has a key that is made from the unique name."""
        wanted = validate_extra_ignore(BerthOfferData, instance_offer.backend_data)
        body: dict[str, Any] = {
            "offer": wanted.offer,
            "gpu_count": wanted.gpu_count,
            "billing_mode": wanted.billing_mode,
            "entrypoint": ["/bin/sh", "-c"],
            "command": [script],
        }
        limit = Decimal(str(instance_offer.price))
        if wanted.billing_mode == "spot":
            body["max_price"] = str(limit / wanted.gpu_count)
        try:
            body["image"] = self.client.image(image, f"{name}-image")
            quote = self.client.quote(body, f"{name}-quote")
            if Decimal(quote["hourly_rate"]) > limit:
                raise NoCapacityError(f"The price has risen from {limit} to {quote['hourly_rate']} an hour")
            order = {
                "quote_id": quote["id"],
                "signature": quote["signature"],
                "name": name,
                "ports": [DSTACK_RUNNER_SSH_PORT],
            }
            return self.client.order(order, f"{name}-order")
        except BerthRefusal as error:
            if error.status in (NOT_FOUND, CONFLICT):
                raise NoCapacityError(str(error)) from error
            raise ComputeError(str(error)) from error
        except BerthUnreachable as error:
            return self._ordered(name, error)

    def _ordered(self, name: str, error: BerthUnreachable) -> dict[str, Any]:
        """Return what was rented although no answer came: an instance that nobody knows of would be paid for on and on."""
        try:
            found = [each for each in self.client.instances() if each["name"] == name and each["state"] not in ENDED]
        except (BerthRefusal, BerthUnreachable) as second:
            logger.error("Berth: whether %s was rented is unknown; look for it with `berth ls`", name)
            raise ComputeError(f"{error}. Whether {name} was rented is unknown: look for it with `berth ls`.") from second
        if not found:
            raise NoCapacityError(str(error)) from error
        return found[0]

    def update_provisioning_data(
        self,
        provisioning_data: JobProvisioningData,
        project_ssh_public_key: str,
        project_ssh_private_key: str,
    ) -> None:
        try:
            instance = self.client.instance(provisioning_data.instance_id)
            if instance["state"] in ENDED or _stays_stopped(instance):
                raise ProvisioningError(_reason(instance))
            if instance["state"] != "running":
                return
            access = self.client.access(provisioning_data.instance_id)
        except BerthRefusal as error:
            raise ProvisioningError(str(error)) from error
        except BerthUnreachable as error:
            logger.warning("Berth: %s; asked again soon", error)
            return
        port = next((each["host"] for each in access["ports"] if each["container"] == DSTACK_RUNNER_SSH_PORT), None)
        if access["ssh"] is None or port is None:
            raise ProvisioningError("The instance has no address for dstack's port.")
        provisioning_data.hostname = access["ssh"]["host"]
        provisioning_data.ssh_port = port

    def terminate_instance(self, instance_id: str, region: str, backend_data: str | None = None) -> None:
        """Release an instance, and call it terminated only once its host has confirmed that nothing is left.

        Raises:
            NotYetTerminated: the host hasn't confirmed it.
        """
        try:
            instance = self.client.instance(instance_id)
            if instance["state"] not in ("releasing", "gone"):
                instance = self.client.release(instance_id)
        except BerthRefusal as error:
            if error.status == NOT_FOUND:
                return
            raise ComputeError(str(error)) from error
        except BerthUnreachable as error:
            raise NotYetTerminated(str(error)) from error
        if instance["state"] != "gone":
            raise NotYetTerminated(f"{instance_id} is {instance['state']}")


def _stays_stopped(instance: dict[str, Any]) -> bool:
    """Return whether it won't go on: its GPUs went to a higher bid, or somebody stopped it."""
    return bool(instance["state"] in ("stopped", "stopping"))


def _reason(instance: dict[str, Any]) -> str:
    failure = instance.get("failure")
    return f"{instance['id']} is {instance['state']}" + (f": {failure['detail']}" if failure else "")
