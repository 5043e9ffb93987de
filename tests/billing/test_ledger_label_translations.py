"""Texts of the ledger never change; those of a known form are worded when a page shows them."""

import pytest
from django.utils.translation import override

from billing.ledger_label_translations import ledger_label
from marketplace.self_tests.requirement_messages import requirement_message


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("Top-up by card", "银行卡充值"),
        ("notebook: 1 × rtx-4090, kept while stopped", "notebook: 1 × rtx-4090，关机保留"),
        ("archive: data disk, 450 GB above the free 50", "archive：数据盘，超出 50 GB 免费额度 450 GB"),
        ("Volume models, 200 GB", "数据卷 models，200 GB"),
        ("MORE-20: 20 % of the next top-up", "MORE-20：下次充值的 20%"),
        ("Payout came back: no such account", "提现被退回：no such account"),
        ("For schedules", "For schedules"),
        ("100% %(name)s <b>", "100% %(name)s <b>"),
        ("%(what)s: data disk, 1 GB above the free 50", "%(what)s：数据盘，超出 50 GB 免费额度 1 GB"),
    ],
)
def test_a_label_in_chinese(kept: str, shown: str) -> None:
    with override("zh-hans"):
        assert ledger_label(kept) == shown


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ("at least 10 Mbit/s", "至少 10 Mbit/s"),
        ("at least 20.10 ", "至少 20.10"),
        ("at most 5 s", "至多 5 s"),
        ("at least 73728 MiB of 80 GB", "至少 73728 MiB（共 80 GB）"),
        ("at least 6.725 TFLOPS, half of 13.45", "至少 6.725 TFLOPS（13.45 的一半）"),
        ("2, as enrolled", "2（与接入时一致）"),
        ("what an agent says", "what an agent says"),
    ],
)
def test_a_requirement_in_chinese(kept: str, shown: str) -> None:
    with override("zh-hans"):
        assert requirement_message(kept) == shown
