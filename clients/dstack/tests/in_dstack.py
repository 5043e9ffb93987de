"""Programs that the tests run by the Python that has dstack: what dstack's server does with a backend, in its own words."""

import json
import sys
import time
from types import SimpleNamespace
from typing import Any

import gpuhunt
from dstack._internal.core.backends.berth.configurator import BerthConfigurator
from dstack._internal.core.backends.models import BackendConfigWithCreds
from dstack._internal.core.errors import BackendInvalidCredentialsError, ComputeError, NotYetTerminated
from dstack._internal.core.models.resources import ResourcesSpec
from dstack._internal.core.models.runs import Requirements
from gpuhunt.providers.berth import BerthProvider

WAIT_S = 120


def offers(url: str, search: str) -> Any:
    """Return the catalogue's items, as `gpuhunt` gives them to anybody."""
    catalog = gpuhunt.Catalog(balance_resources=False, auto_reload=False)
    catalog.add_provider(BerthProvider(url, search))
    found = catalog.query(provider="berth", gpu_name="RTX4090", min_gpu_count=1, max_gpu_count=2)
    return [vars(each) for each in found]


def backend(url: str, token: str, search: str) -> Any:
    """Return the backend by the way that a configuration takes: read, checked, stored, loaded."""
    wanted = {"type": "berth", "url": url, "search": search, "creds": {"type": "token", "token": token}}
    config = BackendConfigWithCreds.model_validate(wanted).root
    configurator = BerthConfigurator()
    configurator.validate_config(config, default_creds_enabled=False)
    record = configurator.create_backend("main", config)
    assert token not in record.config
    return configurator.get_backend(record)


def check(url: str, token: str) -> Any:
    """Return what a wrong token is called."""
    try:
        backend(url, token, "")
    except BackendInvalidCredentialsError as error:
        return {"fields": error.fields}
    return {"fields": None}


def job(url: str, token: str, image: str, public_key: str) -> Any:
    """Run a job on the cheapest offer until it has an address, and terminate it."""
    compute = backend(url, token, "").compute()
    requirements = Requirements(resources=ResourcesSpec.model_validate({"gpu": "RTX4090:1", "disk": "1GB.."}))
    found = list(compute.get_offers(requirements, full_offers=False, unallocated_resources=False))
    run = SimpleNamespace(project_name="main", run_spec=SimpleNamespace(run_name="train"))
    spec = SimpleNamespace(job_name="train-0-0", job_num=0, replica_num=0, image_name=image, registry_auth=None)
    wanted = SimpleNamespace(job_spec=spec)
    data = compute.run_job(
        run=run,
        job=wanted,
        instance_offer=found[0],
        project_ssh_public_key=public_key,
        project_ssh_private_key="",
        volumes=[],
        placement_group=None,
        requirements=requirements,
        extra_authorized_keys=[],
    )
    data = type(data).model_validate_json(data.model_dump_json())  # dstack keeps it in its database between the calls
    until(lambda: compute.update_provisioning_data(data, public_key, "") or data.ssh_port)
    ssh = compute.client.access(data.instance_id)["ssh"]
    until(lambda: terminated(compute, data.instance_id))
    compute.terminate_instance(data.instance_id, data.region)
    return {"offers": len(found), "price": found[0].price, "ssh": ssh, "data": json.loads(data.model_dump_json())}


def dear(url: str, token: str, public_key: str) -> Any:
    """Return how an order ends whose price is higher than the offer said, and one for what isn't there."""
    compute = backend(url, token, "").compute()
    requirements = Requirements(resources=ResourcesSpec.model_validate({"gpu": "RTX4090:1", "disk": "1GB.."}))
    (first, *_) = compute.get_offers(requirements, full_offers=False, unallocated_resources=False)
    said = []
    for change in ({"price": first.price / 2}, {"backend_data": {**first.backend_data, "offer": "offr_" + "0" * 32}}):
        try:
            compute._rent(f"train-{len(said)}", "berth-base", "true", first.model_copy(update=change))
        except ComputeError as error:
            said.append(type(error).__name__)
    return said


def terminated(compute: Any, instance_id: str) -> bool:
    try:
        compute.terminate_instance(instance_id, "")
    except NotYetTerminated:
        return False
    return True


def until(done: Any) -> None:
    ends = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.5)


if __name__ == "__main__":
    program = {"offers": offers, "check": check, "job": job, "dear": dear}[sys.argv[1]]
    sys.stdout.write(json.dumps(program(*sys.argv[2:]), default=str))
