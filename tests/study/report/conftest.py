"""Substitutes for studies, and pages of real models, without pictures unless a test looks at them."""

from html import escape
from typing import Any

import pytest
from matplotlib.figure import Figure
from tests.study.report import pages


@pytest.fixture(scope="session")
def make_case() -> Any:
    return pages.case


@pytest.fixture
def make_held_out() -> Any:
    return pages.held_out


@pytest.fixture(scope="session")
def make_real() -> Any:
    return pages.real


@pytest.fixture(scope="session")
def make_page() -> Any:
    return lambda *args, **options: pages.render(**pages.real(*args, **options))


@pytest.fixture
def pictures() -> None:
    """For tests that look at the pictures of a page."""


@pytest.fixture(autouse=True)
def drawn_but_not_rendered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the figures of pages without rendering them, which takes most of the time of a page."""

    def svg(draw: Any, *, prefix: str, label: str, size: tuple[float, float] = (4.7, 3.0)) -> str:
        draw(Figure(figsize=size).subplots())
        return f'<svg role="img" aria-label="{escape(label, quote=True)}" id="{prefix}"></svg>'

    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("credo.plots.svg", svg)
