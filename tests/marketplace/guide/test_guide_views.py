"""Pages of the guide and the advisor, as everyone sees them."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from accounts.models import User
from marketplace.advisor.workload import PRESETS
from marketplace.guide.topics import TOPICS, Topic
from marketplace.web.guide.forms import PRESET_NAMES, fields_of, form_of, preset_of
from tests.marketplace.shapes import enrolled

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
PROSE = Path(settings.BASE_DIR) / "templates" / "guide"


def page(client: Client, path: str, language: str = "en", **query: str) -> str:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    response = client.get(path, query)
    assert response.status_code == 200, response.content
    return response.content.decode()


def test_the_guide_lists_its_pages_and_the_best_value(client: Client, hana: User) -> None:
    assert "Best value today" not in page(client, "/guide")
    enrolled(hana, 1, price=400_000)
    text = page(client, "/guide")
    assert "RTX 4090" in text
    assert all(f'href="/guide/{topic.slug}"' in text for topic in TOPICS)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.slug)
def test_every_topic_in_both_languages_with_sources(client: Client, topic: Topic) -> None:
    slug = topic.slug
    english, chinese = page(client, f"/guide/{slug}"), page(client, f"/guide/{slug}", "zh-hans")
    for source in topic.sources:
        for language, text in (("en", english), ("zh-hans", chinese)):
            with translation.override(language):
                assert str(source.text) in text
        assert source.url in chinese
    assert (PROSE / "en" / f"{slug}.html").read_text() in english
    assert (PROSE / "zh" / f"{slug}.html").read_text() in chinese


def test_there_is_no_prose_without_a_topic() -> None:
    slugs = {topic.slug for topic in TOPICS}
    assert {path.stem for path in (PROSE / "en").iterdir()} == {path.stem for path in (PROSE / "zh").iterdir()} == slugs


def test_unknown_topic_is_404(client: Client) -> None:
    assert client.get("/guide/nothing").status_code == 404


@pytest.mark.parametrize("sort", ["fp16", "fp32", "value", "price", "vram", "bandwidth", "name", "nonsense"])
def test_the_ranking_sorts_by_link(client: Client, hana: User, sort: str) -> None:
    enrolled(hana, 1, price=400_000)
    text = page(client, "/guide/gpus", sort=sort)
    assert text.count('<td class="model-name">') >= 73
    first = text.partition('<td class="model-name"><strong>')[2].partition("<")[0]
    assert first == {"fp32": "RTX 5090", "value": "RTX 4090", "price": "RTX 4090", "name": "A10"}.get(sort, "B200")
    part = client.get("/guide/gpus", {"sort": sort}, headers=HTMX).content.decode()
    assert "<html" not in part
    assert 'aria-sort="' in part


def test_simulated_prices_say_so(client: Client, hana: User) -> None:
    enrolled(hana, 1, price=400_000, runtime="simulated")
    assert "No real GPU" in page(client, "/guide/gpus", sort="value").partition("RTX 4090")[2].partition("</tr>")[0]


@pytest.mark.parametrize("preset", PRESET_NAMES)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_preset_is_advised(client: Client, preset: str, language: str) -> None:
    text = page(client, "/advisor", language, preset=preset)
    assert 'class="reasons"' in text
    assert text.count('aria-current="true"') == 2  # the preset, and its way


def test_presets_and_form_agree() -> None:
    assert set(PRESET_NAMES) == set(PRESETS)
    for name, work in PRESETS.items():
        form = form_of({"preset": name})
        assert form.work() == work
        assert preset_of(form) == name
        assert form_of(fields_of(work)).work() == work


def test_offers_and_the_way_to_the_market(client: Client, hana: User) -> None:
    enrolled(hana, 2, price=400_000, name="rig-7")
    text = page(client, "/advisor", preset="qlora-7b")
    assert "rig-7" in text
    assert "/market?" in text
    assert "vram_gb_min=11" in text
    assert "On-demand" in text
    link = re.search(r'href="(/calculator\?offer=offr_[^"]+)"', text)
    assert link
    assert client.get(link[1].replace("&amp;", "&")).status_code == 200


def test_an_empty_market_says_so(client: Client) -> None:
    assert "No matching offers right now" in page(client, "/advisor", preset="chat-7b")


def test_the_part_pushes_an_address_that_shows_the_same(client: Client) -> None:
    fields = fields_of(PRESETS["chat-7b"]) | {"batch": "3"}
    response = client.get("/advisor", fields, headers=HTMX)
    assert "<html" not in response.content.decode()
    again = client.get(response["HX-Push-Url"], headers=HTMX)
    assert again.content == response.content
    assert client.get("/advisor", fields_of(PRESETS["chat-7b"]), headers=HTMX)["HX-Push-Url"] == "/advisor?preset=chat-7b"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": "much"}, "Enter a number, such as 500, 110M or 7B."),
        ({"parameters": "900T"}, "From 100k to 10T."),
        ({"batch": "-1"}, "greater than or equal to 1"),
        ({"task": "finetune", "precision": "int4"}, "INT8 and INT4 are for LoRA and inference"),
        ({"task": "lora", "family": "vision"}, "Use full fine-tuning for this one"),
        ({"deadline_hours": "5"}, "enter the amount of work"),
    ],
)
def test_what_makes_no_sense_is_said_at_its_field(client: Client, change: dict[str, str], message: str) -> None:
    text = page(client, "/advisor", **(fields_of(PRESETS["chat-7b"]) | change))
    assert message in text
    assert 'class="reasons"' not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "train", "parameters": "1T"}, "No single host has enough GPU memory"),
        ({"items": "1T", "deadline_hours": "1"}, "No single host can finish this in time"),
        ({"task": "train", "parameters": "1M", "dataset_gb": "900000"}, "No data disk is large enough"),
    ],
)
def test_impossible_wishes_are_refused_in_words(client: Client, change: dict[str, str], message: str) -> None:
    assert message in page(client, "/advisor", **(fields_of(PRESETS["chat-7b"]) | change))


def test_a_presets_shape_goes_with_its_size() -> None:
    kept = fields_of(PRESETS["chat-7b"]) | {"of": "chat-7b", "batch": "9"}
    assert (form_of(kept)["layers"].value(), form_of(kept)["of"].value()) == ("32", "chat-7b")
    larger = form_of(kept | {"parameters": "70B"})
    assert [larger[name].value() for name in ("layers", "hidden", "of")] == ["0", "0", ""]
    own = form_of(kept | {"parameters": "47B", "of": ""})
    assert own["layers"].value() == "32"
    assert form_of(kept | {"parameters": "47B", "layers": "40"})["layers"].value() == "40"


def test_missing_fields_are_filled_in(client: Client) -> None:
    text = page(client, "/advisor", task="infer", parameters="13B")
    assert 'class="reasons"' in text
    assert 'value="2048"' in text
