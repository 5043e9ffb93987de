"""Programs that the tests run by the Python that has SkyPilot: what its API server does, by its own code.

`launch` is what `sky launch` does up to the first command by SSH: check, optimizer, cluster configuration, provisioner.
What follows there installs Ray and SkyPilot in the instance, from the Internet.
"""

import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import sky
from sky import check as sky_check
from sky import clouds, exceptions, global_user_state, provision
from sky.backends import backend_utils
from sky.backends.cloud_vm_ray_backend import RetryingVmProvisioner
from sky.optimizer import Optimizer
from sky.provision import common as provision_common
from sky.provision import instance_setup, provisioner
from sky.provision.vast import instance as vast_instance
from sky.provision.vast import utils as vast_utils
from sky.utils import common, resources_utils, status_lib

WAIT_S = 120
vast_instance.POLL_INTERVAL = 1  # for the test alone: it is ten seconds
UP, STOPPED = status_lib.ClusterStatus.UP, status_lib.ClusterStatus.STOPPED


def check() -> Any:
    """Return what `sky check vast` enables."""
    return sky_check.check(quiet=True, clouds=["vast"])


def launch(name: str, resources: str, *commands: str) -> Any:
    """Launch, run commands by SSH, stop, start, and terminate; the resources are those of a task's file."""
    assert check()
    task = planned(json.loads(resources))
    best = task.best_resources
    made = provisioned(name, task)
    handle, record = made["handle"], made["provision_record"]
    answer = {
        "plan": {"type": best.instance_type, "region": best.region, "price": best.get_cost(3600)},
        "created": record.created_instance_ids,
        "head": record.head_instance_id,
        "said": ran(handle, record.region, commands),
        "files": copied(handle, record.region),
    }
    assert status(handle) == [UP]
    if best.ports:
        answer["web"] = served(handle, best.ports)
    vast_instance.stop_instances(handle.cluster_name_on_cloud)
    until(lambda: status(handle) == [STOPPED])
    again = started(handle, best)
    answer["again"] = [again.head_instance_id, ran(handle, again.region, ["cat /root/kept"])]
    provision.terminate_instances("vast", handle.cluster_name_on_cloud, {})
    until(lambda: status(handle) == [])
    return answer


def rent(name: str, kinds: str, spot: str) -> Any:
    """Return what a launch of each type and region rents, as the market shows it, and destroy it; None: nothing fits."""
    return [rented(name, kind, region, preemptible=spot == "spot") for kind, region in json.loads(kinds)]


def rented(name: str, kind: str, region: str, *, preemptible: bool) -> dict[str, Any] | None:
    try:
        number = str(ordered(name, kind, region, preemptible=preemptible))
    except RuntimeError as error:
        assert "could not find an offer" in str(error), error
        return None
    found = vast_utils.list_instances()[number]
    vast_utils.remove(number)
    return {key: found[key] for key in ("num_gpus", "gpu_name", "is_bid", "dph_base", "cpu_cores", "geolocation")}


def ordered(name: str, kind: str, region: str, *, preemptible: bool = False) -> Any:
    return vast_utils.launch(
        name=name,
        instance_type=kind,
        region=region,
        disk_size=1,
        image_name="berth-test",
        ports=None,
        preemptible=preemptible,
        secure_only=False,
    )


def repeat(name: str, kind: str, region: str) -> Any:
    """Return what becomes of a launch that is repeated while the instance of the first one loads."""
    first = ordered(f"{name}-head", kind, region)
    node = {"InstanceType": kind, "DiskSize": 1, "ImageId": "berth-test", "Preemptible": False}
    config = provision_common.ProvisionConfig(
        provider_config={},
        authentication_config={},
        docker_config={},
        node_config=node,
        count=1,
        tags={},
        resume_stopped_nodes=True,
        ports_to_open_on_launch=None,
    )
    record = vast_instance.run_instances(region, name, name, config)
    there = list(vast_utils.list_instances())
    vast_instance.terminate_instances(name)
    return {"first": first, "head": record.head_instance_id, "created": record.created_instance_ids, "there": there}


def fail(name: str, resources: str) -> Any:
    """Return how a launch ends whose instance fails."""
    assert check()
    try:
        provisioned(name, planned(json.loads(resources)))
    except exceptions.ResourcesUnavailableError:
        log = (Path(name) / "provision.log").read_text(encoding="utf-8")
        return {"log": log, "left": list(vast_utils.list_instances())}
    return {}


def planned(resources: dict[str, Any]) -> sky.Task:
    """Return a task with the place that the optimizer has chosen for it."""
    task = sky.Task(run="true")
    task.set_resources(sky.Resources.from_yaml_config({"infra": "vast", "disk_size": 1, **resources}))
    with sky.Dag() as dag:
        dag.add(task)
    Optimizer.optimize(dag, quiet=True)
    assert task.best_resources is not None
    return task


def provisioned(name: str, task: sky.Task) -> dict[str, Any]:
    """Return what the provisioner has made. The folder has its log, and no wheel: nothing is installed in the instance."""
    folder = Path(name)
    folder.mkdir()
    with sky.Dag() as dag:
        dag.add(task)
    work = RetryingVmProvisioner(
        log_dir=name,
        dag=dag,
        optimize_target=common.OptimizeTarget.COST,
        requested_features=set(),
        local_wheel_path=folder,
        wheel_hash="none",
        is_managed=False,
        extra_launch_context={},
    )
    wanted = RetryingVmProvisioner.ToProvisionConfig(name, task.best_resources, 1, None, None, False, None)
    return work.provision_with_retries(task, wanted, dryrun=False, stream_logs=False, skip_unnecessary_provisioning=False)


def started(handle: Any, best: Any) -> Any:
    """Start the stopped cluster again, as `sky start` does."""
    return provisioner.bulk_provision(
        clouds.Vast(),
        clouds.Region(best.region),
        None,
        resources_utils.ClusterName(handle.cluster_name, handle.cluster_name_on_cloud),
        num_nodes=1,
        cluster_yaml=handle.cluster_yaml,
        prev_cluster_ever_up=True,
        log_dir=handle.cluster_name,
    )


def reached(handle: Any, region: str) -> tuple[Any, dict[str, Any]]:
    """Return the cluster and the way into it, once it answers by SSH."""
    config = global_user_state.get_cluster_yaml_dict(handle.cluster_yaml)
    info = provision.get_cluster_info("vast", region, handle.cluster_name_on_cloud, config["provider"])
    credentials = backend_utils.ssh_credential_from_yaml(handle.cluster_yaml, ssh_user=info.ssh_user)
    credentials["disable_control_master"] = True  # a connection that is kept would outlive the test
    provisioner.wait_for_ssh(info, {name: value for name, value in credentials.items() if "master" not in name})
    return info, credentials


def ran(handle: Any, region: str, commands: Any) -> list[list[Any]]:
    """Return exit status and output of each command."""
    info, credentials = reached(handle, region)
    (runner,) = provision.get_command_runners("vast", info, **credentials)
    found = []
    for command in commands:
        code, out, err = runner.run(command, require_outputs=True, stream_logs=False, separate_stderr=True)
        found.append([code, out if code == 0 else out + err])
    return found


def copied(handle: Any, region: str) -> list[str]:
    """Copy the files that each instance gets, the key among them, and return their names there."""
    mounts = global_user_state.get_cluster_yaml_dict(handle.cluster_yaml)["file_mounts"]
    instance_setup.internal_file_mounts(handle.cluster_name_on_cloud, mounts, *reached(handle, region))
    ((_code, names),) = ran(handle, region, [f"ls {' '.join(mounts)}"])
    return str(names).split()


def served(handle: Any, ports: list[str]) -> dict[str, str]:
    """Return the page behind each port of the cluster, by the address that SkyPilot names."""
    found = provision.query_ports("vast", handle.cluster_name_on_cloud, ports)
    return {str(port): page(endpoint) for port, (endpoint,) in found.items()}


def page(endpoint: Any) -> str:
    address = f"http://{endpoint.host}:{endpoint.port}/"
    ends = time.monotonic() + WAIT_S
    while True:
        try:
            with urllib.request.urlopen(address, timeout=10) as reply:
                return str(reply.read().decode())
        except OSError:
            assert time.monotonic() < ends, address
            time.sleep(0.5)


def status(handle: Any) -> list[Any]:
    return [each for each, _reason in provision.query_instances("vast", "", handle.cluster_name_on_cloud, {}).values()]


def until(done: Any) -> None:
    ends = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.5)


if __name__ == "__main__":
    program = {"check": check, "launch": launch, "rent": rent, "repeat": repeat, "fail": fail}[sys.argv[1]]
    answer = json.dumps(program(*sys.argv[2:]), default=str)
    Path(os.environ["ANSWER"]).write_text(answer, encoding="utf-8")
