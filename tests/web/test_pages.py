"""Every view as it is: for everybody who reads it, in the dark, on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.web.demo import furnish
from tests.web.kit import UI, Service, serving
from tests.web.screenshots import VIEWS, address, settle

AXE = UI / "node_modules" / "axe-core" / "axe.min.js"
BAD = ("serious", "critical")
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("furnished")) as service:
        furnish(service)
        service.other.create_key("ci", role="reader")
        yield service


def opened(browser: Browser, scheme: Scheme, width: int = 1440) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", locale="en-GB"
    )
    return context.new_page()


def problems(page: Page) -> list[str]:
    """What axe finds that is serious: the rule, and where."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in BAD
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_problem_on_any_view(browser: Browser, furnished: Service, scheme: Scheme) -> None:
    assert AXE.is_file(), "axe-core comes with the sources of the page: python hatch_build.py"
    page = opened(browser, scheme)
    found = {}
    for name in VIEWS:
        page.goto(address(furnished, name))
        settle(page)
        found[name] = problems(page)
    page.context.close()
    assert {name: each for name, each in found.items() if each} == {}


def test_nothing_sticks_out_of_a_telephone_or_is_lost_on_a_wall(browser: Browser, furnished: Service) -> None:
    for width in (400, 3_840):
        page = opened(browser, "light", width)
        for name in VIEWS:
            page.goto(address(furnished, name))
            settle(page)
            wide = page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} pixels wide"
        page.context.close()


def test_dark_is_dark(browser: Browser, furnished: Service) -> None:
    colours = {}
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        page = opened(browser, scheme)
        page.goto(furnished.url)
        settle(page)
        shown = page.evaluate("() => getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)")
        colours[scheme] = sum(shown[:3])
        page.context.close()
    assert colours["dark"] < 150
    assert colours["light"] > 600
