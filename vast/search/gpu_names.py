"""Names of GPU models as Vast spells them, which its clients compare letter by letter."""

from functools import cache
from typing import Final

from marketplace.gpu_catalogue.catalogue import MODELS, by_slug

_TESLA: Final = ("v100", "p100", "p40", "t4")
_A100: Final = "a100"


def vast_name(slug: str, *, nvlink: bool = False) -> str:
    """Return the name of a model; `nvlink` tells the two forms of the A100 apart."""
    name = by_slug(slug).name
    if slug == _A100:
        return "A100 SXM4" if nvlink else "A100 PCIE"
    if slug in _TESLA:
        return f"Tesla {name}"
    if name.startswith("Quadro RTX"):
        return name.replace("Quadro RTX", "Q RTX", 1)
    return name.replace("PCIe", "PCIE").replace(" Ti Super", "S Ti").replace(" Super", "S")


def slugs_named(text: str) -> frozenset[str]:
    """Return the models that have this name, in Vast's spelling or in this market's."""
    wanted = _plain(text)
    return frozenset(slug for slug, names in _names().items() if wanted in names)


def vast_names() -> list[str]:
    """Return the name of each model of the catalogue."""
    return sorted({vast_name(model.slug, nvlink=nvlink) for model in MODELS for nvlink in (True, False)})


@cache
def _names() -> dict[str, set[str]]:
    return {
        model.slug: {_plain(model.name), *(_plain(vast_name(model.slug, nvlink=each)) for each in (True, False))}
        for model in MODELS
    }


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").lower().split())
