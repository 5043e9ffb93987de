"""What Vast's client 1.9.1 asks for and this market doesn't have: 501, with a verb or page that there is."""

import re

import pytest
from click import UsageError

from common.http.openapi import schema
from tests.clients.command_lines import parse
from tests.vast.conftest import Vast
from vast.web.unsupported_api import INSTEAD

NO_NUMBER = "docs/vast.md"
# Each request of the client's package `api` that no view of ours answers, and a word of the answer.
REQUESTS = [
    ("GET", "/audit_logs/", "account-events"),
    ("GET", "/auth/apikeys/", "berth token"),
    ("POST", "/auth/apikeys/", "berth token"),
    ("DELETE", "/auth/apikeys/7/", "berth token"),
    ("PUT", "/commands/reset_apikey/", "berth token"),
    ("POST", "/commands/schedule_job/", "sync-schedules"),
    ("DELETE", "/commands/schedule_job/7/", "sync-schedules"),
    ("PUT", "/commands/transfer_credit/", "berth team transfer"),
    ("GET", "/tfa/status/", "Security"),
    ("POST", "/tfa/totp-setup/", "Security"),
    ("GET", "/subaccounts", "berth team"),
    ("GET", "/users/me/ipaddrs", "Security"),
    ("GET", "/users/me/machine-earnings", "berth host earnings"),
    ("POST", "/users/", "Settings"),
    ("GET", "/instances/balance/7/", "berth cost"),
    ("POST", "/contracts/fetch/", "berth ls"),
    ("GET", "/invoices", "berth wallet"),
    ("POST", "/cluster/", "berth rent"),
    ("GET", "/clusters/", "berth rent"),
    ("DELETE", "/cluster/remove_machine/", "berth rent"),
    ("PUT", "/overlay/", "port-forward"),
    ("GET", "/deployments", "serverless"),
    ("POST", "/deployment/7/start/", "serverless"),
    ("GET", "/endptjobs/", "serverless"),
    ("POST", "/autojobs/", "serverless"),
    ("DELETE", "/workergroups/7/", "serverless"),
    ("POST", "/instances/take_snapshot/7/", "berth save-image"),
    ("PUT", "/instances/prepay/7/", "convert"),
    ("GET", "/instances/pending-price-increases/", "never rise"),
    ("PUT", "/instances/accept-price-increase/", "never rise"),
    ("GET", "/machines/maintenances", "berth host maintenance"),
    ("PUT", "/machines/7/dnotify/", "berth host maintenance"),
    ("PUT", "/machines/7/cancel_maint/", "berth host maintenance"),
    ("DELETE", "/machines/7/defjob/", "min-bid"),
    ("PUT", "/machines/create_bids/", "min-bid"),
    ("PUT", "/machines/defrag_offers/", "free GPUs"),
    ("PUT", "/machines/7/cleanup/", "agent"),
    ("POST", "/machines/7/force_delete/", "berth host unlist"),
    ("GET", "/machines/7/reports/", "reliability"),
    ("GET", "/metrics/gpu/current/", "gpu-models"),
    ("GET", "/benchmarks", "gpu-models"),
    ("GET", "/instance_backups/", "vastai copy"),
    ("GET", "/instance_backups/7/download/", "vastai copy"),
    ("POST", "/network_volumes/search/", "berth volume"),
    ("GET", "/network_disk/", "berth volume"),
    ("POST", "/volumes/unlist", "unlist machine"),
    ("GET", "/team/members/", "berth team"),
    ("PUT", "/team/roles/7/", "berth team"),
    ("POST", "/nothing/like/it", NO_NUMBER),
    ("GET", "/", NO_NUMBER),
]


@pytest.mark.parametrize(("method", "path", "word"), REQUESTS)
def test_the_answer_names_what_there_is_instead(vast: Vast, method: str, path: str, word: str) -> None:
    reply = vast.send(method, path)
    assert (reply.status_code, reply.json()["error"]) == (501, "not_implemented")
    message = reply.json()["msg"]
    assert word in message
    assert (NO_NUMBER in message) == (word == NO_NUMBER)


def test_each_line_of_the_table_answers_something() -> None:
    lines = [start for start, _ in INSTEAD]
    asked = [path.lstrip("/") for _, path, _ in REQUESTS]
    reached = {next((start for start in lines if re.match(start, path)), "") for path in asked}
    assert reached - {""} == set(lines)


def test_verbs_and_addresses_are_there() -> None:
    words = "\n".join(each for _, each in INSTEAD)
    missing = {line for line in re.findall(r"`berth ([^`]+)`", words) if not _is_taken(line)}
    assert missing <= {"host maintenance"}  # which the command line gets at the same time
    paths = {re.sub(r"\{[^}]+\}", "ID", path) for path in schema()["paths"]}
    named = set(re.findall(r"/api/v1/[A-Za-z/-]+", words))
    assert named and named <= paths


def _is_taken(line: str) -> bool:
    try:
        parse(line.split())
    except UsageError:
        return False
    return True
