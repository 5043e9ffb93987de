"""What a renter runs, as parts of a create call, and what of it an image of the container must not keep."""

import json
from collections.abc import Mapping
from typing import Any, Final

from agents.protocol.launch_messages import Launch
from agents.protocol.messages import DesiredInstance

LAUNCH_LABEL: Final = "berth.launch"
_OWN: Final = (
    *("NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=", "NVIDIA_IMEX_CHANNELS=", "NVIDIA_MIG_", "BERTH_"),
    *("NVIDIA_GDS=", "NVIDIA_MOFED=", "NVIDIA_GDRCOPY=", "NVIDIA_NVSWITCH=", "LD_PRELOAD=", "LD_AUDIT="),
)
_ROOT_USER: Final = "0"
# In an image with its own SSH server, that runs as root; the command beside it runs as the user that was asked for.
# As the engine does, an unknown uid gets the group 0, and HOME is what the image's list of users says.
_AS_USER: Final = """
user=$1 folder=$2; shift 2
if [ -r /run/berth/env ]; then set -a; . /run/berth/env; set +a; fi
if [ -n "$folder" ]; then mkdir -p -- "$folder" && cd -- "$folder" || exit 126; fi
[ -n "$user" ] || exec "$@"
uid=${user%%:*}
case $user in *:*) gid=${user#*:} ;; *) gid=$(id -g -- "$uid" 2>/dev/null || echo 0) ;; esac
home=$(getent passwd "$uid" 2>/dev/null | cut -d : -f 6)
if [ -n "$home" ]; then export HOME="$home"; fi
if id -- "$uid" >/dev/null 2>&1; then groups=--init-groups; else groups=--clear-groups; fi
uid=$(id -u -- "$uid" 2>/dev/null || echo "$uid")
exec setpriv --reuid "$uid" --regid "$gid" "$groups" -- "$@"
"""


def launch_body(desired: DesiredInstance) -> dict[str, Any]:
    """Return the parts of the create call that say what runs.

    An image with its own SSH server keeps its entrypoint, which starts the command beside the server.
    """
    launch = desired.launch
    if launch is None:
        return {}
    if desired.has_ssh:
        words = [*launch.entrypoint, *launch.command]
        return {"Cmd": ["/bin/sh", "-c", _AS_USER, "sh", launch.user, launch.workdir, *words]} if words else {}
    found = {"Entrypoint": launch.entrypoint, "Cmd": launch.command, "WorkingDir": launch.workdir, "User": launch.user}
    return {name: value for name, value in found.items() if value}


def launch_variables(desired: DesiredInstance) -> dict[str, str]:
    """Return the variables for the container's configuration, which the host's owner can read.

    The secrets are among them only where nothing in the image would read them from the access folder.
    """
    launch = desired.launch or Launch()
    variables = launch.env if desired.has_ssh else {**launch.env, **launch.secrets}
    return {name: text for name, text in variables.items() if not f"{name}=".startswith(_OWN) and name}


def launch_label(desired: DesiredInstance) -> str:
    """Return the names of those variables, by which `bare_config` knows them again; "" without launch settings."""
    return "" if desired.launch is None else json.dumps(sorted(launch_variables(desired)))


def shm_mb(desired: DesiredInstance, cap: int) -> int:
    """Return the size of /dev/shm: half of the memory, or what was asked for, within the memory and the cap."""
    shm_mb_ordered = desired.launch.shm_mb if desired.launch is not None else 0
    return min(shm_mb_ordered or desired.ram_mb // 2, desired.ram_mb, cap)


def bare_config(client: Any, container: str) -> dict[str, Any] | None:
    """Return the configuration with which to commit the container, without launch settings; None if it has none.

    Otherwise the engine would keep them in the image: the next container would inherit variables that were removed,
    and a saved image would tell secrets. A variable without a value is unset in what runs from the image.
    """
    state = client.inspect_container(container)
    label = state["Config"]["Labels"].get(LAUNCH_LABEL, "")
    if not label:
        return None
    own = client.inspect_image(state["Image"]).get("Config") or {}
    before = dict(str(line).partition("=")[::2] for line in own.get("Env") or [] if "=" in str(line))
    return {
        "Env": [f"{name}={before[name]}" if name in before else name for name in json.loads(label)],
        "Cmd": own.get("Cmd") or [],
        "Entrypoint": own.get("Entrypoint") or [],
        "WorkingDir": own.get("WorkingDir") or "/",
        "User": own.get("User") or _ROOT_USER,
    }


def ssh_variables(variables: Mapping[str, str]) -> str:
    """Return a line of sshd's configuration that sets these variables in its sessions; "" for none.

    Such a line cannot hold line breaks, so values with some reach login shells only, through the file `env`.
    """
    plain = {name: text for name, text in variables.items() if "\n" not in text and "\r" not in text}
    words = [f'"{name}={_quoted(text)}"' for name, text in sorted(plain.items()) if '"' not in name and "\\" not in name]
    return f"SetEnv {' '.join(words)}\n" if words else ""


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
