"""What an event says beside its kind: English for scripts, the reader's language on pages."""

import re

import pytest
from django.utils.html import strip_tags
from django.utils.translation import override

from common.money import format_money
from instances.core import event_messages
from instances.core.event_messages import FORMS, detail_words
from marketplace.states import MaintenanceCategory

_WORD = re.compile(r"[A-Za-z]{4,}")
_VALUES = {
    **{"at": "2026-11-22 14:56", "begins": "2026-11-22 15:00", "ends": "2026-11-22 16:00"},
    **{"needed": format_money(3_000_000), "spendable": format_money(10_000), "fee": format_money(70_000)},
    **{
        "category": MaintenanceCategory.INTERNET.value,
        "note": "新网卡",
        "alert": "gpu_idle",
        "zone": "UTC+8",
        "connection": "s3",
    },
    **{"words": "no such bucket"},
    **{"number": 48, "gpu": "GPU-1", "title": "The GPU found an uncorrectable memory error"},
    **{
        "why": "This needs 1.00; the wallet can spend 0.50.",
        "count": 2,
        "days": 7,
        "percent": 91,
        "minutes": 30,
        "size": 4096,
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_found_again_and_says_the_same_in_chinese(form: str) -> None:
    english = form % _VALUES
    with override("en"):
        assert strip_tags(detail_words(english)).lower() == english.lower().replace("gpu_idle", "gpus are idle")
    with override("zh-hans"):
        words = str(detail_words(english))
    assert not _WORD.search(words.replace(str(_VALUES["words"]), "")), words
    for name, value in _VALUES.items():
        assert f"%({name})s" not in form or name in ("category", "alert", "title", "why") or str(value) in words, words


def test_every_form_is_listed() -> None:
    named = {value for name, value in vars(event_messages).items() if name.isupper() and isinstance(value, str)}
    assert named - {event_messages.JOINT} == set(FORMS)


def test_several_things_are_said_one_by_one() -> None:
    with override("zh-hans"):
        said = detail_words("stop at 2026-11-22 14:56 UTC; 2 weekly entries in Asia/Shanghai")
    assert said == "于 2026-11-22 14:56（UTC）关机; 每周 2 个时段（Asia/Shanghai）"


@pytest.mark.parametrize("detail", ["bert-run", "<b>; 40 GB", "stop at noon; or later", "Disk full: none left."])
def test_what_people_and_hosts_wrote_is_shown_as_it_is(detail: str) -> None:
    escaped = detail.replace("<", "&lt;").replace(">", "&gt;")
    with override("zh-hans"):
        assert detail_words(detail) == f'<span lang="en">{escaped}</span>'
