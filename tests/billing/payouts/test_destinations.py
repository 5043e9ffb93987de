"""What can be paid to, and what is mistyped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.models.payout_destinations import destination_of, iban_adds_up, parse_destination
from common.errors import InvalidInput

REAL = ["DE89370400440532013000", "GB33BUKB20201555555555", "FR1420041010050500013M02606", "NO9386011117947"]


def bank(**values: str) -> dict[str, str]:
    return {"method": "bank", "holder": "Hana Host", "iban": REAL[0], **values}


@pytest.mark.parametrize("number", REAL)
def test_real_ibans_add_up(number: str) -> None:
    assert iban_adds_up(number)
    spaced = " ".join(number[i : i + 4] for i in range(0, len(number), 4)).lower()
    assert parse_destination(**bank(iban=spaced)).iban == number


@given(st.sampled_from(REAL), st.integers(0, 30), st.sampled_from("0123456789"))
def test_one_wrong_digit_is_noticed(number: str, place: int, wrong: str) -> None:
    place %= len(number)
    typed = number[:place] + wrong + number[place + 1 :]
    if typed != number and number[place].isdigit():
        with pytest.raises(InvalidInput) as refusal:
            parse_destination(**bank(iban=typed))
        assert [fault.field for fault in refusal.value.errors] == ["iban"]


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        ({"method": "stripe", "stripe_account_id": "12345"}, ["stripe_account_id"]),
        ({"method": "stripe"}, ["stripe_account_id"]),
        (bank(holder=" "), ["holder"]),
        (bank(holder='=HYPERLINK("x")'), ["holder"]),
        (bank(iban="12"), ["iban", "bank"]),
        (bank(iban="DE89"), ["iban"]),
        (bank(iban="12345678"), ["bank"]),
        (bank(bank="+1"), ["bank"]),
        (bank(bank="a\x00b"), ["bank"]),
        ({"method": "bank"}, ["holder", "iban", "bank"]),
    ],
)
def test_faults(values: dict[str, str], fields: list[str]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_destination(**values)
    assert [fault.field for fault in refusal.value.errors] == fields


def test_a_chinese_account() -> None:
    found = parse_destination(method="bank", holder="王 小明", iban="6222 0210 0111 5678 900", bank="ICBC")
    assert (found.iban, found.ending, found.holder) == ("6222021001115678900", "8900", "王 小明")
    assert destination_of(found.kept()) == found


def test_only_its_own_fields_are_kept() -> None:
    found = parse_destination(method="stripe", stripe_account_id=" acct_1HanaConnected ", iban=REAL[0], holder="x")
    assert found.kept() == {
        "method": "stripe", "stripe_account_id": "acct_1HanaConnected", "holder": "", "iban": "", "bank": "",
    }  # fmt: skip
