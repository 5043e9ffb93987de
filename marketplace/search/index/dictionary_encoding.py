"""Dictionary encoding of texts and of combinations, so that rows are counted as integers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class UnknownCode(Exception):
    """Raised when something has no code yet."""


class StringDictionary:
    """Texts of one column with their codes, which are positions in `texts`.

    The database sends hashes of texts.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[int, int] = {}
        self._of_text: dict[str, int] = {}

    def missing(self, hashes: NDArray[np.int64]) -> list[int]:
        return [each for each in np.unique(hashes).tolist() if each not in self._codes]

    def learn(self, hashed: int, text: str) -> None:
        self._codes[hashed] = self.code(text)

    def code(self, text: str) -> int:
        """Return the code of a text, assigning one if it has none."""
        if text not in self._of_text:
            self._of_text[text] = len(self.texts)
            self.texts.append(text)
        return self._of_text[text]

    def known(self, text: object) -> int | None:
        """Return the code of a text, or None for one that no row has had."""
        return self._of_text.get(text) if isinstance(text, str) else None

    def codes(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the codes of hashes.

        Raises:
            UnknownCode: a hash has no code.
        """
        found, places = np.unique(hashes, return_inverse=True)
        return np.array(_codes_of(self._codes, found), np.int64)[places]

    def table(self, value_of: Callable[[str], int]) -> NDArray[np.int64]:
        """Return `value_of` each text, by code."""
        return np.array([value_of(text) for text in self.texts], np.int64)


class CompositeDictionary:
    """Occurring combinations of several columns, with codes; counts by code give counts of every column."""

    def __init__(self, columns: Sequence[str], bits: Sequence[int]) -> None:
        self.columns = tuple(columns)
        self._bits = tuple(bits)
        self._codes: dict[int, int] = {}
        self._rows: list[tuple[int, ...]] = []
        self.members: dict[str, NDArray[np.int64]] = {name: np.empty(0, np.int64) for name in columns}

    def __len__(self) -> int:
        return len(self._rows)

    def meet(self, values: Sequence[NDArray[Any]]) -> None:
        """Assign codes to combinations that have none."""
        found, first = np.unique(self._packed(values), return_index=True)
        for each, row in zip(found.tolist(), first.tolist(), strict=True):
            if each not in self._codes:
                self._codes[each] = len(self._rows)
                self._rows.append(tuple(int(column[row]) for column in values))
        self._unpack()

    def codes(self, values: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
        """Return the codes of combinations.

        Raises:
            UnknownCode: a combination has no code.
        """
        found, places = np.unique(self._packed(values), return_inverse=True)
        return np.array(_codes_of(self._codes, found), np.intp)[places]

    def _packed(self, values: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        packed = np.zeros(len(values[0]), np.int64)
        for column, bits in zip(values, self._bits, strict=True):
            packed = packed << bits | column
        return packed

    def _unpack(self) -> None:
        if len(self.members[self.columns[0]]) < len(self._rows):
            table = np.array(self._rows, np.int64)
            self.members = {name: table[:, place] for place, name in enumerate(self.columns)}


def _codes_of(codes: Mapping[int, int], found: NDArray[Any]) -> list[int]:
    try:
        return [codes[each] for each in found.tolist()]
    except KeyError as error:
        raise UnknownCode from error
