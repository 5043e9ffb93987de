"""Who reaches an instance, and through which ports: what differs, and the call that changes it."""

from typing import TYPE_CHECKING, Any

from berth.cli.declared.comparisons import Comparison
from berth.cli.declared.plans import Change, Step

if TYPE_CHECKING:
    from berth import models

_KINDS = {"ports": False, "udp_ports": True}  # whether a port of this kind is published for UDP


def compare_access(seen: Comparison) -> None:
    spec, client = seen.spec, seen.market.client
    if not spec.keys() & {*_KINDS, "ssh_key_ids", "allow_from"}:
        return
    access = client.instances.access(seen.live.id)
    sent = _compare_ports(seen, access) if spec.keys() & _KINDS.keys() else {}
    before = sorted(access.allow_from)
    if "allow_from" in spec and sorted(spec["allow_from"]) != before:
        seen.changes.append(Change("allow_from", before, spec["allow_from"]))
        sent["allow_from"] = spec["allow_from"]
    if "ssh_key_ids" in spec:
        _compare_keys(seen, access, sent)
    if sent:
        seen.steps.append(Step("access", lambda: client.instances.access_change(seen.live.id, **sent)))


def _compare_ports(seen: Comparison, access: "models.AccessOut") -> dict[str, Any]:
    """Return both kinds of ports if either differs: one kind alone could leave a port of the other open, or close it."""
    before = {
        name: {each.container for each in access.ports if each.extra and each.udp is udp} for name, udp in _KINDS.items()
    }
    kept = _template_ports(seen, access) or before
    wanted = {name: {*seen.spec[name], *kept[name]} if name in seen.spec else before[name] for name in _KINDS}
    wanted["ports"] = wanted["ports"] - wanted["udp_ports"]  # what is published for UDP is published for TCP as well
    if wanted == before:
        return {}
    for name in _KINDS:
        if wanted[name] != before[name]:
            seen.changes.append(Change(name, sorted(before[name]), sorted(wanted[name])))
    seen.notes.append("Ports change at its next start or restart.")
    return {name: sorted(ports) for name, ports in wanted.items()}


def _template_ports(seen: Comparison, access: "models.AccessOut") -> dict[str, set[int]] | None:
    """Return the ports that an order opened for its template, beside the file's; None: that version isn't to be seen now."""
    agreed = seen.live.launch_template
    if agreed is None:
        return {name: set() for name in _KINDS}
    found = seen.market.template_of(f"{agreed.id}@{agreed.version}")
    if found is None:
        return None
    own = {each.container for each in access.ports if not each.extra}
    return {
        name: {each.port for each in found.version.ports if (each.protocol == "udp") is udp} - own
        for name, udp in _KINDS.items()
    }


def _compare_keys(seen: Comparison, access: "models.AccessOut", sent: dict[str, Any]) -> None:
    before = None if access.all_keys else sorted(access.ssh_keys)
    keys = None if seen.spec["ssh_key_ids"] is None else seen.market.keys_of(seen.spec["ssh_key_ids"])
    after = None if keys is None else sorted({each.public_key for each in keys})
    if before != after:
        former = "all of the account" if before is None else [each.split()[-1] for each in before]
        wanted = "all of the account" if keys is None else seen.spec["ssh_key_ids"]
        seen.changes.append(Change("ssh_key_ids", former, wanted))
        sent["ssh_key_ids"] = None if keys is None else [each.id for each in keys]
