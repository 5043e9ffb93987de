"""Laws of the templates that a strict content security policy and two languages rest on."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines
from django.template.loader import get_template

TEMPLATES = Path(settings.BASE_DIR) / "templates"
OURS = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html") if "panels" not in path.parts)
PROSE = ("guide/en/", "guide/zh/")  # whole pages in one language; tests/marketplace/guide/test_guide_views.py asks for both
KNOWN = {
    *("Berth", "GPU", "VRAM", "GB", "RAM", "SSH", "UDP", "JupyterLab", "TensorBoard", "CUDA", "OpenAPI", "ID", "min", "EN"),
    *("TFLOPS", "data", "berth__", "sse", "connect", "NVLink", "PCIe", "NVLinkPCIe", "Mbit", "CPU", "MiB", "PDF"),
    *("notin", "price", "vram"),  # the search line reads the same in every language,
    *("mnt", "pub", "behind", "nat"),  # so do folders, the options of a command,
    *("Ctrl", "Esc", "Tab"),  # and keys
}
_COMMENTS = re.compile(r"\{#.*?#\}|<!--.*?-->", re.DOTALL)


def test_template_compiles(subtests: pytest.Subtests) -> None:
    for name in OURS:
        with subtests.test(name):
            assert engines["django"]
            get_template(name)


def test_template_has_no_inline_script_style_or_handler(subtests: pytest.Subtests) -> None:
    for name in OURS:
        with subtests.test(name):
            text = _COMMENTS.sub("", (TEMPLATES / name).read_text(encoding="utf-8"))
            assert not re.search(r"<script(?![^>]*\bsrc=)", text)
            assert not re.search(r"<style|\sstyle=", text)
            assert not re.search(r"\son[a-z]+=", text)
            assert "hx-on" not in text
            assert "javascript:" not in text


def test_template_loads_nothing_from_elsewhere(subtests: pytest.Subtests) -> None:
    for name in OURS:
        with subtests.test(name):
            text = (TEMPLATES / name).read_text(encoding="utf-8")
            assert not re.search(r'(?:src|href)="(?:https?:)?//', text)


def test_words_are_marked_for_translation(subtests: pytest.Subtests) -> None:
    """What is left of a template without tags and variables is no English sentence."""
    for name in [name for name in OURS if not name.startswith(PROSE)]:
        with subtests.test(name):
            text = _COMMENTS.sub("", (TEMPLATES / name).read_text(encoding="utf-8"))
            text = re.sub(r"\{% blocktranslate.*?\{% endblocktranslate %\}|<pre.*?</pre>", "", text, flags=re.DOTALL)
            text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", text, flags=re.DOTALL)
            text = re.sub(r"<[^>]*>", "\n", text)
            words = {word for word in re.findall(r"[A-Za-z_]{3,}", text)} - KNOWN
            assert words == set()


def test_labels_of_buttons_without_words() -> None:
    """A button that shows only an icon has a name for screen readers."""
    for path in TEMPLATES.rglob("*.html"):
        for button in re.findall(r"<button[^>]*btn-icon[^>]*>", path.read_text(encoding="utf-8")):
            assert "aria-label" in button, (path, button)
