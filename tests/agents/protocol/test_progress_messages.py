"""What agents say of their work: codes with parameters, and the English sentence for whoever knows no codes."""

import pytest

from agents.protocol.codec import decode, encode
from agents.protocol.messages import ObservedOperation
from agents.protocol.progress_messages import CUT_OFF, LOADING_IMAGE, PORT_TAKEN, SENTENCES, VOLUME_MISSING, Said, say

PARAMS: dict[str, dict[str, object]] = {
    LOADING_IMAGE: {"done": 43, "total": 210, "ready": 3, "layers": 7},
    CUT_OFF: {"why": "timed out"},
    PORT_TAKEN: {"port": 40_022},
    VOLUME_MISSING: {"volume": "5e" * 16, "why": "its file is gone"},
}


@pytest.mark.parametrize("code", SENTENCES)
def test_each_is_a_sentence(code: str) -> None:
    message = say(code, **PARAMS.get(code, {}))
    assert message.in_english[0].isupper()
    assert message.in_english.endswith(".")
    assert "{" not in message.in_english


def test_a_code_or_parameter_that_is_missing_is_an_error_of_the_program() -> None:
    with pytest.raises(KeyError):
        say("of_its_own")
    with pytest.raises(KeyError):
        say(LOADING_IMAGE, done=1)


def test_what_broke_is_cut() -> None:
    assert len(say(CUT_OFF, why="x{0}" * 1_000).in_english) == 300


def test_it_goes_over_the_wire_and_may_be_left_out() -> None:
    row = ObservedOperation("b" * 32, "running", 1, 2, "Copying.", said=Said("copying"))
    assert decode(ObservedOperation, encode(row)) == row
    assert decode(ObservedOperation, b'{"id":"b","phase":"running","detail":"Copying."}').said is None
