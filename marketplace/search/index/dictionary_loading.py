"""Loads the texts behind the hashes in rows of offers."""

from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from marketplace.search.index.binary_layout import WORDS, text_of
from marketplace.search.index.column_store import Store, uuids


def learn_words(store: Store, records: NDArray[Any] | None) -> bool:
    """Load the texts of new hashes from the database; return False when one no longer exists."""
    return records is None or all([_learn_column(store, name, records) for name in WORDS])


def _learn_column(store: Store, name: str, records: NDArray[Any]) -> bool:
    words, column = store.words[name], text_of(name)
    missing = words.missing(records[name])
    if not missing:
        return True
    hashes, first = np.unique(records[name], return_index=True)
    ids = uuids(records["id"][first[np.isin(hashes, missing)]].tolist())
    query = f"SELECT hashtextextended({column}, 0), {column} FROM marketplace_offer WHERE id = ANY (%s::uuid[])"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(query, [ids])
        for hashed, text in cursor.fetchall():
            words.learn(hashed, text)
    return not words.missing(records[name])
