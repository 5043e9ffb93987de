"""What a renter's script does, over HTTP."""

from typing import Any

import httpx

from tests.waiting import wait_until


def offer_of(client: httpx.Client, host: str, **filters: str) -> dict[str, Any]:
    """The host's one offer, once it is on the market with a free GPU."""

    def found() -> dict[str, Any] | None:
        offers = client.get("/api/v1/offers", params={"limit": "100", **filters}).raise_for_status().json()["results"]
        return next((offer for offer in offers if offer["host"]["name"] == host and offer["gpu_free"]), None)

    offer: dict[str, Any] = wait_until(f"an offer of {host}", found)
    return offer


def wait_for_templates(client: httpx.Client, slugs: set[str]) -> None:
    """Until the official templates of images that were registered are there."""

    def found() -> bool:
        listed = client.get("/api/v1/launch-templates", params={"source": "official"}).raise_for_status().json()["results"]
        return slugs <= {row["slug"] for row in listed}

    wait_until(f"the templates {sorted(slugs)}", found)


def quote(
    client: httpx.Client,
    offer: dict[str, Any],
    *,
    gpu_count: int = 1,
    data_disk_gb: int = 10,
    image: str = "berth-base",
) -> dict[str, Any]:
    body = {
        "offer": offer["id"],
        "gpu_count": gpu_count,
        "billing_mode": "hourly",
        "image": image,
        "data_disk_gb": data_disk_gb,
        "hours": 1,
    }
    reply = client.post("/api/v1/quotes", json=body)
    assert reply.status_code == httpx.codes.CREATED, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def rent(client: httpx.Client, offer: dict[str, Any], **choices: Any) -> dict[str, Any]:
    reply = client.post("/api/v1/instances", json={"quote_id": quote(client, offer, **choices)["id"], "name": "box"})
    assert reply.status_code == httpx.codes.CREATED, reply.text
    instance: dict[str, Any] = reply.json()
    return instance


def read(client: httpx.Client, instance: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/api/v1/instances/{instance['id']}").raise_for_status().json()
    return answer


def wait_for_state(client: httpx.Client, instance: dict[str, Any], state: str, *, timeout: float = 60) -> dict[str, Any]:
    def found() -> dict[str, Any] | None:
        now = read(client, instance)
        assert state == "failed" or now["state"] != "failed", now["failure"]
        return now if now["state"] == state else None

    answer: dict[str, Any] = wait_until(f"{instance['id']} to be {state}", found, timeout=timeout)
    return answer


def act(client: httpx.Client, instance: dict[str, Any], action: str) -> dict[str, Any]:
    reply = client.post(f"/api/v1/instances/{instance['id']}/{action}", json={})
    assert reply.status_code == httpx.codes.ACCEPTED, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def release(client: httpx.Client, instance: dict[str, Any]) -> None:
    reply = client.delete(f"/api/v1/instances/{instance['id']}")
    assert reply.status_code in (httpx.codes.OK, httpx.codes.ACCEPTED), reply.text
    wait_for_state(client, instance, "gone")
