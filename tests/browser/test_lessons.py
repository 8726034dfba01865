"""The lessons: the list, a lesson beside the playground, and the numbers that the lessons name."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

pytestmark = pytest.mark.browser

LESSONS = json.loads((files("credo.app.lab") / "static/lessons/lessons.json").read_text(encoding="utf-8"))["lessons"]

# What the texts say about the log evidence (or −BIC/2) of each pane when a step is opened.
NAMED = {
    ("overfitting", 1): [-11.7], ("overfitting", 2): [-1.5], ("evidence", 1): [-55.7], ("evidence", 2): [-7.7, -10.8],
    ("evidence", 3): [-15.8], ("additive", 1): [0.0], ("additive", 2): [-31.6], ("additive", 3): [-4.4],
    ("kernel", 2): [-15.8], ("kernel", 3): [-57.8], ("sums", 1): [-281], ("sums", 2): [-65], ("sums", 3): [-111, -65],
    ("ard", 1): [-20.9], ("ard", 3): [-8.5, -17.6], ("laplace", 1): [-17.6, -17.5],
    ("laplace", 2): [-12.5, -10.2], ("laplace", 3): [-12.1, -10.2],
}  # fmt: skip


def opened(page, lab, id, step=1):
    page.goto(lab.url(f"/lessons?id={id}&step={step}"))
    painted(page)


def painted(page):
    page.wait_for_function(
        """() => {
            const panes = [...document.querySelectorAll(".pane")];
            const done = ({ dataset }) => dataset.painted && dataset.painted === dataset.asked;
            return panes.length > 0 && panes.every(done);
        }"""
    )


def evidence(page):
    return [float(text.replace("−", "-")) for text in page.locator(".evidence-value").all_inner_texts()]


def test_thirteen_lessons_of_the_right_length():
    assert len(LESSONS) == len({lesson["id"] for lesson in LESSONS}) == 13
    for lesson in LESSONS:
        assert 60 <= sum(len(paragraph.split()) for paragraph in lesson["idea"]) <= 120, lesson["id"]
        assert all(step["say"] and step["try"] and step["see"] for step in lesson["steps"])


def test_the_list_leads_to_a_lesson_and_its_steps(page, lab):
    page.goto(lab.url("/lessons"))
    page.wait_for_function("() => document.querySelectorAll('.lesson-link').length === 13")
    page.get_by_role("link", name="Over-fitting by degree").click()
    painted(page)
    assert page.get_by_role("heading", level=1).inner_text() == "Over-fitting by degree"
    page.get_by_role("button", name="Next step").click()
    page.wait_for_function("() => location.search.includes('step=2')")
    page.wait_for_function("() => document.querySelector('.evidence-value')?.textContent === '−1.54'")
    page.get_by_label("Degree", exact=True).fill("3")
    painted(page)
    assert evidence(page) == pytest.approx([0.3], abs=0.05)
    page.get_by_role("button", name="Reset step").click()
    page.wait_for_function("() => document.querySelector('.evidence-value')?.textContent === '−1.54'")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["id"])
def test_every_step_shows_what_its_text_says(page, lab, lesson):
    opened(page, lab, lesson["id"])
    for number, step in enumerate(lesson["steps"], 1):
        if number > 1:
            page.get_by_role("button", name=f"Step {number}", exact=True).click()
            page.wait_for_function(
                "(panes) => document.querySelectorAll('.pane').length === panes", arg=len(step["state"]["panes"])
            )
            page.wait_for_function("(number) => location.search.includes(`step=${number}`)", arg=number)
            painted(page)
        told = page.locator(".stage .error:visible, .page-note:visible, .notes li").all_inner_texts()
        assert [each for each in told if "Too few points are left" not in each] == []
        if (lesson["id"], number) in NAMED:
            named = NAMED[lesson["id"], number]
            page.wait_for_function(
                """(named) => {
                    const value = (node) => Number(node.textContent.replace("−", "-"));
                    const shown = [...document.querySelectorAll(".evidence-value")].map(value);
                    const near = (k) => Math.abs(shown[k] - named[k]) <= (Math.abs(named[k]) > 60 ? 0.51 : 0.06);
                    return shown.length === named.length && shown.every((_, k) => near(k));
                }""",
                arg=named,
            )


def test_learning_takes_the_curve_of_a_straight_line_to_zero(page, lab):
    opened(page, lab, "additive", 3)
    scale = page.get_by_label("Scale of the curve, as a number")
    assert scale.input_value() == "0.5"
    page.get_by_role("button", name="Learn", exact=True).click()
    page.wait_for_function("() => document.querySelector('.evidence-value')?.textContent === '−1.37'")
    assert float(scale.input_value()) < 1e-3
    line, deviation = page.locator(".main-plot .parts path").evaluate_all("all => all.map((p) => p.getBBox().height)")
    assert line > 50 and deviation < 1
    assert page.locator(".legend").get_by_text("deviation from the line").is_visible()


def test_an_unknown_lesson_shows_the_list(page, lab):
    page.goto(lab.url("/lessons?id=alchemy"))
    page.get_by_role("alert").wait_for(state="visible")
    assert page.locator(".lesson-link").count() == 13


def test_a_lesson_fits_a_phone(phone, lab):
    opened(phone, lab, "laplace", 2)
    assert not phone.evaluate("() => document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_back_goes_one_step_back(page, lab):
    opened(page, lab, "laplace")
    for number in (2, 3):
        page.get_by_role("button", name="Next step").click()
        page.wait_for_function("(number) => location.search.includes(`step=${number}`)", arg=number)
        painted(page)
    page.go_back()
    page.locator(".lesson-steps button[aria-pressed=true]").get_by_text("2", exact=True).wait_for()
    page.go_back()
    page.locator(".lesson-steps button[aria-pressed=true]").get_by_text("1", exact=True).wait_for()
