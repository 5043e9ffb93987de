"""Following money that was taken back: by hand, and against a walk that reads every flow of everybody in order."""

from collections import Counter, defaultdict
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from billing.ledger.tracing import Flow, Place, TraceStart, trace

ANN, BEN, CARL = (UUID(int=number) for number in (1, 2, 3))
FIRST, SECOND = UUID(int=21), UUID(int=22)
HOSTS = [UUID(int=11), UUID(int=12)]


def place(user: UUID) -> Place:
    return ("wallet", user)


def pay(number: int, user: UUID, host: UUID, micros: int) -> Flow:
    return Flow(number, place(user), (place(user), host), micros, micros - micros // 10)


def pass_on(number: int, user: UUID, other: UUID, micros: int) -> Flow:
    return Flow(number, place(user), place(other), micros, micros)


def give_back(number: int, user: UUID, host: UUID, micros: int) -> Flow:
    return Flow(number, (place(user), host), place(user), micros, micros)


def back_to_card(number: int, user: UUID, payment: UUID, micros: int, stays: int) -> Flow:
    return Flow(number, place(user), None, micros, 0, of=payment, stays=stays)


def stream_of(flow: Flow) -> Any:
    """In whose wallet's lines a flow is read: also what a host gives back is one of the payer's."""
    return flow.source if isinstance(flow.source[0], str) else flow.source[0]


def walk(starts: list[TraceStart], flows: list[Flow], page: int = 2) -> dict[Any, dict[UUID, int]]:
    def read(where: Place, after: int, only_returns: bool) -> list[Flow]:
        of_it = [flow for flow in flows if flow.number > after and stream_of(flow) == where]
        return [flow for flow in of_it if not only_returns or flow.source != where][:page]

    return trace(starts, read).places


def naive(starts: list[TraceStart], flows: list[Flow]) -> dict[Any, dict[UUID, int]]:
    """Each micro-unit for itself, everything in the order of the ledger."""
    units: dict[Any, list[tuple[UUID, UUID | None]]] = defaultdict(list)
    events: list[TraceStart | Flow] = sorted([*starts, *flows], key=lambda event: (event.number, isinstance(event, Flow)))
    for event in events:
        if isinstance(event, TraceStart):
            units[event.target] += [(event.debtor, event.payment)] * event.micros
        elif event.target is None:
            here, left = units[event.source], event.micros
            own = [unit for unit in here if event.of in unit][:left]
            for unit in own:
                here.remove(unit)
            left -= len(own)
            while left and len(here) > event.stays:
                here.pop(0)
                left -= 1
        else:
            here = units[event.source]
            leaves, units[event.source] = here[: event.micros], here[event.micros :]
            units[event.target] += leaves[: event.arrives]
    return {where: dict(Counter(debtor for debtor, _payment in here)) for where, here in units.items() if here}


def test_by_hand_through_two_hands_and_back() -> None:
    """100 taken back: 40 to a host, 50 to Ben, who pays 30 and gives 20 to Carl; Carl hands 20 back to Ann."""
    flows = [
        pay(2, ANN, HOSTS[0], 40),
        pass_on(3, ANN, BEN, 50),
        pay(4, BEN, HOSTS[1], 30),
        pass_on(5, BEN, CARL, 60),  # 40 of it are Ben's own
        pass_on(6, CARL, ANN, 20),
    ]
    assert walk([TraceStart(1, ANN, place(ANN), 100)], flows) == {
        (place(ANN), HOSTS[0]): {ANN: 36},
        (place(BEN), HOSTS[1]): {ANN: 27},
        place(ANN): {ANN: 30},
    }


def test_what_left_before_it_came_is_not_looked_at() -> None:
    assert walk([TraceStart(5, ANN, place(ANN), 10)], [pay(4, ANN, HOSTS[0], 8), pass_on(6, ANN, BEN, 3)]) == {
        place(BEN): {ANN: 3},
        place(ANN): {ANN: 7},
    }


def test_what_a_host_gives_back_is_followed_again() -> None:
    flows = [pay(2, ANN, HOSTS[0], 10), give_back(3, ANN, HOSTS[0], 9), pass_on(4, ANN, BEN, 5)]
    assert walk([TraceStart(1, ANN, place(ANN), 10)], flows) == {place(ANN): {ANN: 4}, place(BEN): {ANN: 5}}


def test_two_debts_in_one_wallet_leave_in_the_order_in_which_they_came() -> None:
    starts = [TraceStart(1, ANN, place(CARL), 10), TraceStart(2, BEN, place(CARL), 10)]
    assert walk(starts, [pass_on(3, CARL, ANN, 15)]) == {place(ANN): {ANN: 10, BEN: 5}, place(CARL): {BEN: 5}}


def test_a_refund_of_another_payment_leaves_what_is_in_question_where_it_is() -> None:
    """100 in question and 100 more: 100 go back to the other card, and all that is left is in question."""
    flows = [back_to_card(2, ANN, SECOND, 100, stays=100), pay(3, ANN, HOSTS[0], 100)]
    assert walk([TraceStart(1, ANN, place(ANN), 100, FIRST)], flows) == {(place(ANN), HOSTS[0]): {ANN: 90}}


def test_a_refund_of_the_same_payment_takes_its_own_part() -> None:
    """100 in question and 100 more: 40 that go back to their own card are not asked of a host as well."""
    flows = [back_to_card(2, ANN, FIRST, 40, stays=160), pay(3, ANN, HOSTS[0], 100)]
    assert walk([TraceStart(1, ANN, place(ANN), 100, FIRST)], flows) == {(place(ANN), HOSTS[0]): {ANN: 60}}


def test_what_is_in_question_is_never_more_than_the_balance_that_stays() -> None:
    assert walk([TraceStart(1, ANN, place(BEN), 100, FIRST)], [back_to_card(2, BEN, SECOND, 70, stays=30)]) == {
        place(BEN): {ANN: 30}
    }


def test_a_repayment_takes_first_what_its_own_debtor_owes() -> None:
    starts = [TraceStart(1, ANN, place(BEN), 10, FIRST), TraceStart(2, BEN, place(BEN), 10, SECOND)]
    assert walk(starts, [back_to_card(3, BEN, BEN, 10, stays=10)]) == {place(BEN): {ANN: 10}}


USERS = st.sampled_from([ANN, BEN, CARL])
MICROS = st.integers(1, 60)
PAYMENTS = st.sampled_from([FIRST, SECOND])
KINDS = ["start", "pay", "pass", "back", "card"]


@st.composite
def ledgers(draw: Any) -> tuple[list[TraceStart], list[Flow]]:
    starts, flows = [], []
    for number in range(1, draw(st.integers(1, 25)) + 1):
        kind, user, micros = draw(st.sampled_from(KINDS)), draw(USERS), draw(MICROS)
        host = draw(st.sampled_from(HOSTS))
        if kind == "start":
            starts.append(TraceStart(number, user, place(user), micros, draw(PAYMENTS)))
        elif kind == "card":
            flows.append(back_to_card(number, user, draw(st.one_of(PAYMENTS, USERS)), micros, draw(st.integers(0, 60))))
        elif kind == "pay":
            flows.append(pay(number, user, host, micros))
        elif kind == "back":
            flows.append(give_back(number, user, host, micros))
        else:
            flows.append(
                pass_on(number, user, draw(st.sampled_from([other for other in (ANN, BEN, CARL) if other != user])), micros)
            )
    return starts, flows


@given(ledgers(), st.integers(1, 5))
def test_reading_page_by_page_finds_what_reading_everything_finds(
    ledger: tuple[list[TraceStart], list[Flow]], page: int
) -> None:
    starts, flows = ledger
    found = walk(starts, flows, page)
    assert found == naive(starts, flows)
    assert sum(sum(debts.values()) for debts in found.values()) <= sum(start.micros for start in starts)
