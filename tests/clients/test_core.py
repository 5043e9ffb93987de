"""The pure half of the client: retries, pages, ids, and scripts that are run without a network."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth import errors, models
from berth._core.calls import Call, Fault, Pause, Reply, Request
from berth._core.pages import next_call
from berth._core.retries import RetryPolicy, pause_before_retry, retry_after
from berth._core.waiting import until_state
from berth._core.wire import Site, build, exchange, path_part, read

SITE = Site("https://berth.example.org", "berth_secret")
POST: Call[Any] = Call("POST", "/api/v1/quotes", models.QuoteOut, body={"offer": "offr_1"}, key="k")
PATCH: Call[Any] = Call("PATCH", "/api/v1/me", models.Profile, body={})


@given(
    attempt=st.integers(0, 10),
    luck=st.floats(0, 1),
    status=st.sampled_from([200, 400, 404, 409, 429, 500, 502, 503, 504]),
    keyed=st.booleans(),
)
def test_retries_are_bounded_and_only_for_what_may_be_repeated(attempt: int, luck: float, status: int, keyed: bool) -> None:
    policy = RetryPolicy()
    call = POST if keyed else PATCH
    pause = pause_before_retry(policy, call, Reply(status, {}, b""), attempt, luck)
    allowed = attempt < policy.retries and (status == 429 or (keyed and status in (502, 503, 504)))
    assert (pause is not None) == allowed
    assert pause is None or 0 <= pause <= policy.longest_pause


def test_decisions_of_the_market_are_not_repeated() -> None:
    reply = Reply(409, {}, b"{}")
    assert pause_before_retry(RetryPolicy(), POST, reply, 0, 0.5) is None


def test_what_was_never_sent_may_always_be_repeated() -> None:
    assert pause_before_retry(RetryPolicy(), PATCH, Fault("refused", sent=False), 0, 0.5) is not None
    assert pause_before_retry(RetryPolicy(), PATCH, Fault("lost", sent=True), 0, 0.5) is None


def test_retry_after_may_be_a_date() -> None:
    now = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
    later = (now + timedelta(seconds=7)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert retry_after(Reply(503, {"retry-after": later}, b""), now=now) == 7
    for text in ("", "soon", "-1", "1e9", "٣"):
        assert retry_after(Reply(503, {"retry-after": text}, b""), now=now) is None, text


@given(st.text(min_size=1))
def test_an_id_stays_one_segment_of_the_path(text: str) -> None:
    try:
        part = path_part(text)
    except (errors.ConfigurationError, UnicodeEncodeError):
        return
    assert not set(part) & set("/?#\\ \r\n") and part not in (".", "..")


def test_the_token_does_not_go_to_other_addresses() -> None:
    call = Call("GET", "https://relay.example.org/wait?ticket=x", dict, anonymous=True)
    assert "Authorization" not in build(call, SITE).headers
    assert build(POST, SITE).headers["Authorization"] == "Bearer berth_secret"
    assert "berth_secret" not in repr(SITE)


@pytest.mark.parametrize("url", ["", "berth.example.org", "ftp://x", "https://user:pw@x", "https://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(errors.ConfigurationError):
        Site(url)


def test_the_next_page_is_asked_of_the_same_market() -> None:
    call = Call("GET", "/api/v1/instances", models.PaginatedInstanceOutList, query={"limit": 2})
    following = next_call(call, "https://evil.example/api/v1/other?cursor=abc&limit=9")
    assert following is not None
    assert (following.path, following.query) == ("/api/v1/instances", {"limit": 2, "cursor": "abc"})
    assert next_call(following, "https://evil.example/?cursor=abc") is None, "a page that leads to itself would be endless"
    assert next_call(call, None) is None


def problem(**members: Any) -> Reply:
    import json

    return Reply(members["status"], {"x-request-id": "r-1"}, json.dumps(members).encode())


def test_errors_carry_what_the_api_says() -> None:
    reply = problem(
        status=409,
        code="price_changed",
        title="Price changed",
        detail="It costs more.",
        errors=[{"field": "max_total", "code": "low", "detail": "Too low."}],
        quote={"id": "quot_2"},
    )
    with pytest.raises(errors.PriceChanged) as found:
        read(POST, reply)
    error = found.value
    assert (error.status, error.code, error.request_id, error.extra) == (
        409,
        "price_changed",
        "r-1",
        {"quote": {"id": "quot_2"}},
    )
    assert error.fields == (errors.FieldError("max_total", "low", "Too low."),)
    assert str(error) == "It costs more. (price_changed)\nmax_total: Too low."


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b'"x"', b"{}", b'{"code": 7, "errors": 3}', b"\xff\xfe"])
def test_odd_refusals_are_errors_too(body: bytes) -> None:
    with pytest.raises(errors.Forbidden):
        read(POST, Reply(403, {}, body))


def run(script: Any, answers: list[Reply | Fault]) -> tuple[Any, list[Request], list[float]]:
    """A driver without a network and without time."""
    sent: list[Request] = []
    pauses: list[float] = []
    outcome: Reply | Fault | None = None
    while True:
        try:
            step = script.send(outcome)
        except StopIteration as end:
            return end.value, sent, pauses
        if isinstance(step, Pause):
            pauses.append(step.seconds)
            outcome = None
        else:
            sent.append(step)
            outcome = answers.pop(0)


def test_the_request_is_the_same_in_every_attempt() -> None:
    answers: list[Reply | Fault] = [Fault("lost", sent=True), Reply(503, {"retry-after": "2"}, b""), Reply(200, {}, b"{}")]
    with pytest.raises(errors.DecodeError):
        run(exchange(POST, SITE), answers)
    _, sent, pauses = run(
        exchange(Call("GET", "/x", dict), SITE), [Reply(503, {"retry-after": "2"}, b""), Reply(200, {}, b"{}")]
    )
    assert sent[0] == sent[1]
    assert 2 <= pauses[0] < 2.5


class State:
    """Replies of a market in which one instance goes through states."""

    def __init__(self, *states: tuple[str, str]) -> None:
        self.states = list(states)

    def __call__(self, request: Request) -> Reply:
        if request.url.endswith("/live"):
            return Reply(
                200, {}, b'{"wait_url": "/relay/v1/wait?ticket=t", "events_url": "", "expires_at": "2026-11-26T00:00:00Z"}'
            )
        if "/wait?" in request.url:
            return Reply(200, {}, b'{"version": 5}')
        if self.states[0] == ("away", ""):
            self.states.pop(0)
            return Reply(502, {}, b"")
        state, desired = self.states[0] if len(self.states) == 1 else self.states.pop(0)
        return Reply(200, {}, f'{{"id": "inst_1", "state": "{state}", "desired": "{desired}"}}'.encode())


def waited(*states: tuple[str, str], wanted: str = "running", timeout: float = 60) -> Any:
    import msgspec

    class Small(msgspec.Struct):
        id: str
        state: str
        desired: str

    market, seen = State(*states), []
    call = Call("GET", "/api/v1/instances/inst_1", Small)
    script = until_state(SITE, call, (wanted,), timeout=timeout, seen=lambda each: seen.append(each.state))
    outcome: Reply | None = None
    requests = 0
    while True:
        try:
            step = script.send(outcome)
        except StopIteration as end:
            return end.value.state, seen, requests
        outcome = market(step) if isinstance(step, Request) else None
        requests += 1


def test_a_wait_ends_with_the_state() -> None:
    state, seen, _ = waited(("requested", "running"), ("provisioning", "running"), ("running", "running"))
    assert (state, seen) == ("running", ["requested", "provisioning", "running"])


@pytest.mark.parametrize("ending", [("failed", "running"), ("gone", "gone"), ("stopped", "stopped")])
def test_a_wait_for_what_can_not_come_ends(ending: tuple[str, str]) -> None:
    with pytest.raises(errors.WaitFailed, match=ending[0]):
        waited(("requested", "running"), ending)


def test_a_stopped_instance_that_is_being_released_is_waited_for() -> None:
    assert waited(("stopped", "gone"), ("releasing", "gone"), ("gone", "gone"), wanted="gone")[0] == "gone"


def test_a_wait_has_an_end() -> None:
    with pytest.raises(errors.WaitTimeout) as late:
        waited(("requested", "running"), timeout=0)
    assert late.value.last.state == "requested"


def test_a_market_that_is_away_for_a_while_does_not_end_a_wait() -> None:
    outage = [("away", "")] * 12
    state, seen, _ = waited(("requested", "running"), *outage, ("running", "running"))
    assert (state, seen) == ("running", ["requested", "running"])
