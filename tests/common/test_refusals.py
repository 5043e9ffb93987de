"""A refusal is kept as a code and the error's sentence: English readers have the sentence, others the title of the code."""

import json

import pytest
from django.utils.translation import override

from billing.errors import too_little
from common.messages.message import English, read, stored
from common.messages.rendering import english, in_mail, plain
from common.refusals import TITLES, Refused, error_message, refused
from config.error_pages import FAULTS
from instances.core.money_messages import TooLittle, refusal
from marketplace.errors import GpuTaken, JoinTokenRefused


def test_a_refusal_is_worded_for_its_reader() -> None:
    message = refusal(GpuTaken("2 GPUs requested, 1 are free."))
    assert message == Refused(reason="gpu_taken", detail="2 GPUs requested, 1 are free.")
    assert read(json.loads(json.dumps(stored(message)))) == message
    assert english(message) == "2 GPUs requested, 1 are free."
    with override("zh-hans"):
        assert plain(message) == error_message(GpuTaken("…")) == "这些 GPU 刚刚被其他人租走。"


def test_lack_of_money_says_how_much() -> None:
    with override("zh-hans"):
        assert isinstance(refusal(too_little(2_000_000, 500_000)), TooLittle)


def test_a_code_without_a_title_is_english_alone() -> None:
    assert refused(JoinTokenRefused("Unknown join token.")) == English(sentence="Unknown join token.")


def test_what_a_sentence_quotes_is_no_link_in_mail() -> None:
    message = refused(GpuTaken("See https://evil.example.com/now"))
    assert "https://evil" not in in_mail(message)


@pytest.mark.parametrize("code", sorted(FAULTS))
def test_pages_and_messages_have_one_title(code: str) -> None:
    assert str(FAULTS[code].title) == str(TITLES[code])
