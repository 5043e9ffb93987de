"""Destinations of payouts: as entered by a host owner, validated, and as stored with a payout."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from common.errors import FieldError, InvalidInput
from common.spreadsheets import begins_like_formula

_STRIPE_ACCOUNT: Final = re.compile(r"acct_[A-Za-z0-9]{6,58}")
_LOOKS_LIKE_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]*")
_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_PLAIN_NUMBER: Final = re.compile(r"[0-9][0-9A-Z-]{3,33}")
# A spreadsheet reads a cell that begins with certain signs as a formula, and the bank export is opened in one.
_LETTERS_BEFORE: Final = 10  # A is 10, Z is 35
_MODULUS: Final = 97
_SHOWN: Final = 4
_IDENTITY_AT_MOST: Final = 200


@dataclass(frozen=True)
class Destination:
    """Account that receives a payout; `method` is stripe or bank, and only its own fields are filled."""

    method: str
    stripe_account_id: str = ""
    holder: str = ""
    iban: str = ""
    bank: str = ""

    @property
    def ending(self) -> str:
        """Return the last characters of the account: enough to recognise it, too few to misuse."""
        return (self.stripe_account_id or self.iban)[-_SHOWN:]

    @property
    def identity(self) -> str:
        """Return a text that is the same for each way of writing the same account.

        An IBAN contains its bank, a plain number does not.
        """
        if self.stripe_account_id:
            return self.stripe_account_id
        number = "".join(self.iban.split()).replace("-", "").upper()
        if not number or _LOOKS_LIKE_IBAN.fullmatch(number):
            return number
        return f"{number} {_letters(self.bank)}".strip()[:_IDENTITY_AT_MOST]

    def kept(self) -> dict[str, str]:
        """Return the fields as a payout stores them."""
        return asdict(self)


def destination_of(kept: Mapping[str, str]) -> Destination:
    return Destination(**kept)


def parse_destination(
    *, method: str, stripe_account_id: str = "", holder: str = "", iban: str = "", bank: str = ""
) -> Destination:
    """Return the entered destination, tidied and validated.

    Raises:
        InvalidInput: a field is wrong; the error names each one.
    """
    if method == "stripe":
        account = stripe_account_id.strip()
        _refuse({} if _STRIPE_ACCOUNT.fullmatch(account) else {"stripe_account_id": "It begins with acct_."})
        return Destination(method, stripe_account_id=account)
    number = "".join(iban.split()).upper()
    found = Destination(method, holder=" ".join(holder.split()), iban=number, bank=" ".join(bank.split()))
    _refuse(_bank_faults(found))
    return found


def iban_adds_up(number: str) -> bool:
    """Return whether an IBAN's check digits are right (ISO 13616).

    The first four characters move to the end, letters become numbers, and the remainder by 97 is 1.
    """
    turned = number[4:] + number[:4]
    digits = "".join(str(ord(each) - ord("A") + _LETTERS_BEFORE) if each.isalpha() else each for each in turned)
    return int(digits) % _MODULUS == 1


def _letters(name: str) -> str:
    """Return a bank's name without case, width, spaces and punctuation."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def _bank_faults(found: Destination) -> dict[str, str]:
    faults = {}
    if not found.holder or _is_unfit(found.holder):
        faults["holder"] = "Name the holder of the account as the bank knows it."
    if fault := _number_fault(found.iban):
        faults["iban"] = fault
    if _is_unfit(found.bank) or (not found.bank and not _LOOKS_LIKE_IBAN.fullmatch(found.iban)):
        faults["bank"] = "An account number without an IBAN needs the bank's name or BIC."
    return faults


def _number_fault(number: str) -> str:
    if _LOOKS_LIKE_IBAN.fullmatch(number):
        fits = _IBAN.fullmatch(number) and iban_adds_up(number)
        return "" if fits else "This IBAN's checksum is wrong: a character is mistyped or missing."
    return "" if _PLAIN_NUMBER.fullmatch(number) else "Write an IBAN, or an account number of 4 to 34 digits."


def _is_unfit(text: str) -> bool:
    return begins_like_formula(text) or not text.isprintable()


def _refuse(faults: Mapping[str, str]) -> None:
    if faults:
        errors = [FieldError(name, "invalid", detail) for name, detail in faults.items()]
        raise InvalidInput("Payouts to this account aren't possible.", errors=errors)
