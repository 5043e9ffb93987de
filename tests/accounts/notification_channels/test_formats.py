"""Requests and answers of each service: as documented, within its limits, and harmless whatever a name contains."""

import base64
import hashlib
import hmac
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounts.notification_channels.credentials import check_credentials, hint_of, without_secrets
from accounts.notification_channels.formats.parts import (
    DELIVERED,
    Answer,
    Credentials,
    Notification,
    Verdict,
    cut,
    cut_bytes,
)
from accounts.notification_channels.services import SERVICES
from common.errors import InvalidInput
from tests.accounts.notification_channels import vendors
from tests.accounts.notification_channels.vendors import DINGTALK_SECRET, FEISHU_SECRET, FINE, GIVEN

AT = datetime(2026, 11, 26, 4, 0, tzinfo=UTC)
STAMP = "1795665600"
LINK = "https://market.example/instances/inst_1"
NOTE = Notification("evt_1", "instance.failed", AT, "train failed", ("The image is gone.",), LINK, "Open in Berth", {"n": 1})
VENDORS = sorted(GIVEN)


def message_of(service: str, note: Notification = NOTE, **fields: str) -> Any:
    credentials = Credentials(**{**GIVEN[service], **fields})
    return json.loads(
        SERVICES[service].request(note, check_credentials(service=service, credentials=credentials), at=AT).body
    )


def verdict(service: str, status: int, body: str, **headers: str) -> Verdict:
    return SERVICES[service].verdict(Answer(status, headers, body.encode()))


# -- the documented form of each message


def test_slack() -> None:
    assert message_of("slack") == {
        "text": "train failed",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "train failed", "emoji": False}},
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": f"The image is gone.\n<{LINK}|Open in Berth>", "verbatim": True},
            },
        ],
        "unfurl_links": False,
        "unfurl_media": False,
        "link_names": False,
    }


def test_discord() -> None:
    assert message_of("discord") == {
        "embeds": [
            {
                "title": "train failed",
                "description": "The image is gone\\.",
                "timestamp": "2026-11-26T04:00:00Z",
                "url": LINK,
            }
        ],
        "allowed_mentions": {"parse": []},
    }
    request = SERVICES["discord"].request(NOTE, vendors.credentials("discord"), at=AT)
    assert request.url == f"{vendors.DISCORD}?wait=true"


def test_telegram() -> None:
    assert message_of("telegram") == {
        "chat_id": vendors.CHAT,
        "text": f'<b>train failed</b>\nThe image is gone.\n<a href="{LINK}">Open in Berth</a>',
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": True},
    }
    request = SERVICES["telegram"].request(NOTE, vendors.credentials("telegram"), at=AT)
    assert request.url == f"https://api.telegram.org/bot{vendors.TELEGRAM}/sendMessage"


def test_feishu_signs_an_empty_message_with_time_and_secret() -> None:
    post = {
        "title": "Berth · train failed",
        "content": [
            [{"tag": "text", "text": "The image is gone."}],
            [{"tag": "a", "text": "Open in Berth", "href": LINK}],
        ],
    }
    key = f"{STAMP}\n{FEISHU_SECRET}".encode()
    assert message_of("feishu") == {
        "msg_type": "post",
        "content": {"post": {"zh_cn": post}},
        "timestamp": STAMP,
        "sign": base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode(),
    }
    assert "sign" not in message_of("feishu", secret="")


def test_dingtalk_signs_time_and_secret_with_the_secret_in_the_address() -> None:
    assert message_of("dingtalk") == {
        "msgtype": "text",
        "text": {"content": f"Berth · train failed\nThe image is gone.\nOpen in Berth: {LINK}"},
        "at": {"isAtAll": False},
    }
    request = SERVICES["dingtalk"].request(NOTE, vendors.credentials("dingtalk"), at=AT)
    query = parse_qs(urlsplit(request.url).query)
    signed = hmac.new(DINGTALK_SECRET.encode(), f"{STAMP}000\n{DINGTALK_SECRET}".encode(), hashlib.sha256).digest()
    assert query["timestamp"] == [f"{STAMP}000"]
    assert query["sign"] == [base64.b64encode(signed).decode()]
    assert request.url.startswith(f"{vendors.DINGTALK}&")


def test_wecom() -> None:
    assert message_of("wecom") == {
        "msgtype": "text",
        "text": {
            "content": f"Berth · train failed\nThe image is gone.\nOpen in Berth: {LINK}",
            "mentioned_list": [],
            "mentioned_mobile_list": [],
        },
    }
    alone = check_credentials(service="wecom", credentials=Credentials(url=vendors.WECOM.partition("key=")[2]))
    assert alone.url == vendors.WECOM


def test_json_is_signed_like_webhooks_if_there_is_a_secret() -> None:
    secret = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    request = SERVICES["json"].request(NOTE, Credentials(url="https://9.9.9.9/", secret=secret), at=AT)
    assert json.loads(request.body) == {
        "id": "evt_1",
        "type": "instance.failed",
        "timestamp": "2026-11-26T04:00:00.000000Z",
        "title": "train failed",
        "text": "The image is gone.",
        "link": LINK,
        "data": {"n": 1},
    }
    signed = hmac.new(b"0123456789abcdef" * 2, f"evt_1.{STAMP}.".encode() + request.body, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(signed).decode()}"
    assert request.headers["webhook-id"] == "evt_1"
    plain = SERVICES["json"].request(NOTE, Credentials(url="https://9.9.9.9/"), at=AT)
    assert "webhook-signature" not in plain.headers


# -- whatever a name contains

HOSTILE = [
    "<!channel> <!everyone> <@U123> <#C123>",
    "@everyone @here <@!1> <@&2> [x](https://evil.example)",
    '<a href="https://evil.example">x</a> <b>&lt;',
    '<at user_id="all">all</at><at id=all></at>',
    '"}],"at":{"isAtAll":true},"x":[{"',
    "\ud800 \x00 \u202e \u2028 \\ ` * _ ~ | > # -",
]
texts = st.text(max_size=400) | st.sampled_from(HOSTILE) | st.lists(st.sampled_from(HOSTILE), max_size=40).map(" ".join)
notes = st.builds(
    Notification,
    id=st.just("evt_1"),
    kind=st.just("instance.failed"),
    at=st.just(AT),
    title=texts,
    lines=st.lists(texts, max_size=8).map(tuple),
    link=st.just(LINK),
    link_text=st.just("Open in Berth"),
)
worst = Notification("evt_1", "instance.failed", AT, " ".join(HOSTILE), tuple(HOSTILE) * 2, LINK, "Open in Berth")
longest = Notification("evt_1", "instance.failed", AT, "😀" * 5_000, ("训" * 5_000, "<" * 5_000) * 4, LINK, "Open in Berth")


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@given(notes)
@example(worst)
@example(longest)
def test_slack_has_one_tag_and_it_is_our_link(note: Notification) -> None:
    message = message_of("slack", note)
    header, section = message["blocks"]
    assert set(header["text"]) == {"type", "text", "emoji"} and header["text"]["type"] == "plain_text"
    assert utf16(header["text"]["text"]) <= 150
    assert utf16(section["text"]["text"]) <= 3_000
    assert re.findall(r"<[^>]*>?|>", section["text"]["text"]) == [f"<{LINK}|Open in Berth>"]
    assert not set("<>*_~`") & set(message["text"])
    assert re.sub(r"&(amp|lt|gt);", "", message["text"]).count("&") == 0


@given(notes)
@example(worst)
@example(longest)
def test_discord_has_no_bare_markup_and_mentions_nobody(note: Notification) -> None:
    message = message_of("discord", note)
    embed = message["embeds"][0]
    assert message["allowed_mentions"] == {"parse": []} and "content" not in message
    assert utf16(embed["title"]) <= 256 and utf16(embed["description"]) <= 4_096
    for text in (embed["title"], embed["description"]):
        bare = re.sub(r"\\[\\`*_{}\[\]()<>#+\-.!|~@:/]", "", text)
        assert not set("\\`*_[]()<>#|~@:/") & set(bare)


@given(notes)
@example(worst)
@example(longest)
def test_telegram_has_our_two_tags_only(note: Notification) -> None:
    text = message_of("telegram", note)["text"]
    found: list[tuple[str, Any]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            found.append((tag, attrs))

    Reader().feed(text)
    assert found == [("b", []), ("a", [("href", LINK)])]
    assert utf16(text) <= 4_096
    assert re.search(r"&(?!(amp|lt|gt|quot);)", text) is None


@given(notes)
@example(worst)
@example(longest)
def test_feishu_dingtalk_and_wecom_have_no_signs_that_mentions_are_made_of(note: Notification) -> None:
    post = message_of("feishu", note)
    rows = post["content"]["post"]["zh_cn"]["content"]
    assert [part["tag"] for row in rows for part in row] == ["text"] * (len(rows) - 1) + ["a"]
    assert len(json.dumps(post).encode()) < 20_000 * 4 and len(json.dumps(post, ensure_ascii=False).encode()) < 20_000
    ding, wecom = message_of("dingtalk", note), message_of("wecom", note)
    assert ding["at"] == {"isAtAll": False}
    assert len(wecom["text"]["content"].encode()) <= 2_048 and wecom["text"]["mentioned_list"] == []
    assert len(json.dumps(ding, ensure_ascii=False).encode()) < 20_000
    ours = [ding["text"]["content"], wecom["text"]["content"], *(part["text"] for row in rows for part in row)]
    assert all(not set("<>@") & set(text) for text in ours)
    assert all("Berth" in text for text in ours[:2])
    assert ding["text"]["content"].endswith(LINK) and wecom["text"]["content"].endswith(LINK)


@given(notes, st.sampled_from(VENDORS))
def test_every_body_is_json_of_the_same_shape(note: Notification, service: str) -> None:
    def shape(value: Any) -> Any:
        return {name: shape(one) for name, one in value.items()} if isinstance(value, dict) else type(value)

    assert shape(message_of(service, note)) == shape(message_of(service))


@given(st.text(max_size=50), st.integers(1, 40))
def test_cuts_stay_within(text: str, most: int) -> None:
    clean = text.encode("utf-8", "ignore").decode()
    assert utf16(cut(clean, most)) <= most
    assert len(cut_bytes(clean, most + 3).encode()) <= most + 3


# -- what the answers mean


@pytest.mark.parametrize("service", sorted(FINE))
def test_delivered(service: str) -> None:
    assert verdict(service, *FINE[service]) == DELIVERED


@pytest.mark.parametrize(
    ("service", "status", "body", "fault", "is_refused", "seconds"),
    [
        ("slack", 400, "invalid_payload", "rejected", False, None),
        ("slack", 400, "invalid_blocks", "rejected", False, None),
        ("slack", 404, "no_service", "channel_gone", True, None),
        ("slack", 404, "channel_not_found", "channel_gone", True, None),
        ("slack", 410, "channel_is_archived", "channel_gone", True, None),
        ("slack", 403, "action_prohibited", "channel_gone", True, None),
        ("slack", 500, "rollup_error", "status", False, None),
        ("slack", 302, "", "redirect", False, None),
        ("discord", 429, '{"message": "…", "retry_after": 0.5, "global": false}', "rate_limited", False, 0.5),
        ("discord", 404, '{"message": "Unknown Webhook", "code": 10015}', "channel_gone", True, None),
        ("discord", 401, '{"message": "Invalid Webhook Token", "code": 50027}', "channel_gone", True, None),
        ("discord", 400, '{"message": "Invalid Form Body", "code": 50035}', "rejected", False, None),
        ("discord", 502, "<html>", "status", False, None),
        ("telegram", 429, '{"ok":false,"error_code":429,"parameters":{"retry_after":34}}', "rate_limited", False, 34),
        ("telegram", 401, '{"ok":false,"error_code":401,"description":"Unauthorized"}', "credentials", True, None),
        ("telegram", 404, '{"ok":false,"error_code":404,"description":"Not Found"}', "credentials", True, None),
        (
            *("telegram", 403, '{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked"}'),
            *("channel_gone", True, None),
        ),
        (
            *("telegram", 400, '{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}'),
            *("channel_gone", True, None),
        ),
        (
            *("telegram", 400, '{"ok":false,"error_code":400,"description":"Bad Request: can\'t parse entities"}'),
            *("rejected", False, None),
        ),
        ("telegram", 200, "<html>a proxy</html>", "status", False, None),
        (
            "feishu",
            200,
            '{"code":19001,"msg":"param invalid: incoming webhook access token invalid"}',
            "channel_gone",
            True,
            None,
        ),
        (
            "feishu",
            200,
            '{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}',
            "signature",
            True,
            None,
        ),
        ("feishu", 200, '{"code":19022,"msg":"Ip Not Allowed"}', "not_allowed_address", True, None),
        ("feishu", 200, '{"code":19024,"msg":"Key Words Not Found"}', "keyword", True, None),
        ("feishu", 200, '{"code":11232,"msg":"frequency limited"}', "rate_limited", False, None),
        ("feishu", 400, '{"code":9499,"msg":"Bad Request","data":{}}', "rejected", False, None),
        ("feishu", 200, '{"code":1,"msg":"?"}', "status", False, None),
        ("feishu", 200, "[]", "status", False, None),
        ("dingtalk", 200, '{"errcode":310000,"errmsg":"sign not match"}', "signature", True, None),
        ("dingtalk", 200, '{"errcode":310000,"errmsg":"keywords not in content"}', "keyword", True, None),
        ("dingtalk", 200, '{"errcode":310000,"errmsg":"ip 1.2.3.4 not in whitelist"}', "not_allowed_address", True, None),
        ("dingtalk", 200, '{"errcode":300001,"errmsg":"token is not exist"}', "channel_gone", True, None),
        (
            "dingtalk",
            200,
            '{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}',
            "rate_limited",
            False,
            600,
        ),
        ("dingtalk", 200, '{"errcode":-1,"errmsg":"system busy"}', "status", False, None),
        ("wecom", 200, '{"errcode":93000,"errmsg":"invalid webhook url"}', "channel_gone", True, None),
        ("wecom", 200, '{"errcode":45009,"errmsg":"api freq out of limit"}', "rate_limited", False, 60),
        ("wecom", 200, '{"errcode":40058,"errmsg":"content exceed max length"}', "rejected", False, None),
        ("wecom", 200, '{"errcode":true}', "status", False, None),
        ("json", 410, "", "channel_gone", True, None),
        ("json", 500, "", "status", False, None),
    ],
)
def test_faults(*, service: str, status: int, body: str, fault: str, is_refused: bool, seconds: float | None) -> None:
    assert verdict(service, status, body) == Verdict(fault, is_refused, seconds)


@pytest.mark.parametrize("service", ["slack", "discord", "json", "telegram"])
def test_retry_after_is_understood_where_it_stands(service: str) -> None:
    assert verdict(service, 429, "", **{"retry-after": "30"}) == Verdict("rate_limited", retry_after_s=30)
    for odd in ("soon", "-1", "nan", "inf", ""):
        assert verdict(service, 429, "", **{"retry-after": odd}).retry_after_s in (None, 86_400)


@given(st.sampled_from(sorted(FINE)), st.integers(200, 599), st.binary(max_size=60) | st.just(b"[" * 3_000))
def test_no_answer_raises(service: str, status: int, body: bytes) -> None:
    found = SERVICES[service].verdict(Answer(status, {}, body))
    assert found.fault or status < 300


# -- credentials


@pytest.mark.parametrize(
    ("service", "field", "value"),
    [
        ("slack", "url", "https://hooks.slack.com.evil.example/services/T00000000/B00000000/x"),
        ("slack", "url", "https://user@hooks.slack.com/services/T00000000/B00000000/x"),
        ("slack", "url", "http://hooks.slack.com/services/T00000000/B00000000/xxxxxxxxxxxx"),
        ("slack", "url", "https://hooks.slack.com/services/../../x\r\nHost: evil"),
        ("discord", "url", "https://discord.com/api/webhooks/1/short"),
        ("discord", "url", "https://discord.com.evil.example/api/webhooks/12345/" + "x" * 30),
        ("telegram", "token", "123456789:AAE/../../x"),
        ("telegram", "chat_id", "-100 1"),
        ("feishu", "url", "https://open.feishu.cn/open-apis/bot/v2/hook/short"),
        ("feishu", "secret", "with spaces in it"),
        ("dingtalk", "url", "https://oapi.dingtalk.com/robot/send?access_token=x&timestamp=1"),
        ("dingtalk", "secret", "no-SEC-in-front-of-it-0123456789"),
        ("wecom", "url", "https://qyapi.weixin.qq.com/cgi-bin/webhook/upload?key=wecomSecret-0123-4567"),
    ],
)
def test_what_is_no_credential_of_a_service(service: str, field: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_credentials(service=service, credentials=Credentials(**{**GIVEN[service], field: value}))
    assert [error.field for error in refusal.value.errors] == [field]
    assert value not in str(refusal.value)


def test_missing_and_foreign_fields_are_named() -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_credentials(service="telegram", credentials=Credentials(url=vendors.SLACK, chat_id="1"))
    assert [error.field for error in refusal.value.errors] == ["token", "url"]


def test_lark_is_feishu_abroad() -> None:
    assert check_credentials(service="feishu", credentials=Credentials(url=vendors.LARK)).url == vendors.LARK


@pytest.mark.parametrize("service", VENDORS)
def test_nothing_secret_is_printed_or_kept(service: str) -> None:
    credentials = vendors.credentials(service)
    request = SERVICES[service].request(NOTE, credentials, at=AT)
    shown = f"{credentials!r} {request!r} {hint_of(credentials)}"
    output = without_secrets(f"no such hook {request.url} {' '.join(credentials.values().values())}", credentials)
    assert not [secret for secret in vendors.SECRETS if secret in shown or secret in output]
    assert len(hint_of(credentials)) == 4
