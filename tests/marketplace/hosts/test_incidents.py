"""Incidents are read in the reader's language; rows of before have their English text alone."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils.translation import override

from accounts.models import User
from common.messages.message import Name
from common.messages.rendering import plain, said
from marketplace.hosts.incidents import extend_incident, open_incident
from marketplace.incident_messages import AfterRestore, MassSilence
from marketplace.models import Incident

pytestmark = pytest.mark.django_db


def test_an_incident_keeps_a_message_and_its_english_text() -> None:
    open_incident(kind="mass_silence", subject="hosts", detail=MassSilence(lost=3, watched=9, owners=2))
    incident = Incident.objects.get()
    assert incident.detail.startswith("3 of 9 hosts of 2 owners stopped responding together.")
    assert incident.message is not None
    with override("zh-hans"):
        assert plain(incident.message).startswith("2 位出租方的 9 台主机中，有 3 台同时失联。")


def test_a_row_of_before_keeps_its_text() -> None:
    Incident.objects.create(kind="odd", subject="x", detail="Something <odd> was seen.")
    incident = Incident.objects.get()
    assert incident.message is None
    with override("zh-hans"):
        assert said(incident.message, incident.detail) == '<span lang="en">Something &lt;odd&gt; was seen.</span>'


def test_an_extended_incident_has_its_whole_list_in_english() -> None:
    lines = [f"finding {number}" for number in range(40)]
    for count in (1, 40):
        newest = tuple(Name(name=line) for line in lines[:count][-10:])
        detail = AfterRestore(count=count, newest=newest)
        extend_incident(kind="after_backup", subject="market", detail=detail, text="\n".join(lines[:count]))
    incident = Incident.objects.get()
    assert incident.detail.splitlines() == lines
    assert isinstance(incident.message, AfterRestore)
    assert incident.message.count == 40


def test_staff_read_kind_detail_and_closer_in_their_language(client: Client, stella: User) -> None:
    client.force_login(stella)
    open_incident(kind="mass_silence", subject="hosts", detail=MassSilence(lost=3, watched=9, owners=2))
    Incident.objects.update(closed_by="time limit")
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    page = client.get("/admin/marketplace/incident/").content.decode()
    assert "Many hosts not responding" not in page
    assert "大量主机失联" in page
    assert "已达时限" in page
    assert "有 3 台同时失联" in page
