"""The playground's page, used as a person uses it."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.browser

PANE = ".pane >> nth=0"
POINTS = ".pane >> nth=0 >> .main-plot .point"


def start(page, lab, path="/"):
    page.goto(lab.url(path))
    page.wait_for_selector(".pane[data-painted]")
    return page


def count(page):
    return page.locator(POINTS).count()


def settled(page, pane=0):
    """Wait until the answer to the newest request is drawn."""
    page.wait_for_function(
        """(index) => {
            const { asked, painted } = document.querySelectorAll(".pane")[index]?.dataset ?? {};
            return painted !== undefined && painted === asked;
        }""",
        arg=pane,
    )


def frame(page, pane=0):
    return page.locator(".main-plot .frame").nth(pane).bounding_box()


def spot(page, across, up, pane=0):
    """A place within the plotting area, as parts of its width and height."""
    box = frame(page, pane)
    return box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]


def mean_line(page, pane=0):
    return page.locator(".main-plot .mean path").nth(pane).get_attribute("d")


def center(page, index, pane=0):
    node = page.locator(".main-plot").nth(pane).locator(".point").nth(index).bounding_box()
    return node["x"] + node["width"] / 2, node["y"] + node["height"] / 2


def evidence(page, pane=0):
    text = page.locator(".pane").nth(pane).locator(".evidence-value").inner_text()
    return float(text.replace("−", "-"))


def choose(page, name, pane=0):
    page.locator(".pane").nth(pane).get_by_role("tab", name=name, exact=True).click()


def test_a_click_adds_a_point_and_the_model_follows(page, lab):
    start(page, lab)
    settled(page)
    n, before = count(page), mean_line(page)
    page.mouse.click(*spot(page, 0.5, 0.95))
    settled(page)
    assert count(page) == n + 1
    assert mean_line(page) != before
    assert page.get_by_role("status").inner_text().startswith("Point added")


def test_dragging_moves_a_point_and_is_one_step_of_undo(page, lab):
    start(page, lab)
    settled(page)
    n, before, (x, y) = count(page), mean_line(page), center(page, 3)
    target = spot(page, 0.3, 0.1)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(x + (target[0] - x) * step / 10, y + (target[1] - y) * step / 10)
    page.mouse.up()
    settled(page)
    assert count(page) == n
    assert center(page, 3) == pytest.approx(target, abs=2)
    assert mean_line(page) != before
    page.keyboard.press("Control+z")
    settled(page)
    assert center(page, 3) == pytest.approx((x, y), abs=2)
    assert mean_line(page) == before


def test_points_are_removed_by_key_and_by_right_click_and_come_back(page, lab):
    start(page, lab)
    n = count(page)
    page.mouse.click(*spot(page, 0.5, 0.95))
    page.keyboard.press("Delete")
    assert count(page) == n
    page.mouse.click(*center(page, 0), button="right")
    assert count(page) == n - 1
    page.get_by_role("button", name="Undo").click()
    assert count(page) == n
    page.keyboard.press("Control+z")
    assert count(page) == n + 1
    page.keyboard.press("Control+Shift+z")
    assert count(page) == n
    page.get_by_role("button", name="Clear").click()
    assert count(page) == 0
    settled(page)


def test_learning_raises_the_evidence_and_moves_the_sliders(page, lab):
    start(page, lab)
    settled(page)
    before, noise = evidence(page), page.get_by_label("Noise, as a number").input_value()
    page.get_by_role("button", name="Learn").click()
    page.wait_for_function(
        "() => document.querySelector('.learn').getAttribute('aria-busy') === 'false'", timeout=25_000
    )
    settled(page)
    assert evidence(page) > before + 0.1
    assert page.get_by_label("Noise, as a number").input_value() != noise


def test_points_can_be_moved_while_the_server_learns_and_learning_can_be_cancelled(page, lab):
    held = []
    page.route(
        "**/api/playground/answer",
        lambda route: held.append(route) if route.request.post_data_json["want"]["learn"] else route.continue_(),
    )
    start(page, lab)
    settled(page)
    page.get_by_role("button", name="Learn").click()
    assert page.get_by_role("button", name="Learning…").is_disabled()
    before = mean_line(page)
    page.mouse.click(*spot(page, 0.5, 0.95))
    settled(page)
    assert mean_line(page) != before
    page.get_by_role("button", name="Cancel").click()
    assert page.get_by_role("button", name="Learn", exact=True).is_enabled()
    assert len(held) == 1


def test_another_model_has_its_own_controls(page, lab):
    start(page, lab)
    settled(page)
    before = mean_line(page)
    choose(page, "Least squares")
    settled(page)
    assert page.get_by_label("Basis").is_visible()
    assert page.locator("fieldset.kernel").count() == 0
    cubic = mean_line(page)
    assert cubic != before
    page.get_by_label("Degree", exact=True).fill("1")
    settled(page)
    line = [float(v) for v in re.findall(r"[\d.]+,([-\d.]+)", mean_line(page))]
    bends = [a - 2 * b + c for a, b, c in zip(line, line[1:], line[2:], strict=False)]
    assert max(map(abs, bends)) < 0.25  # a straight line, up to the rounding of pixels
    page.get_by_label("Basis").select_option(label="Step")
    assert page.get_by_label("Degree", exact=True).count() == 0
    settled(page)


def test_two_models_share_the_points(page, lab):
    start(page, lab)
    page.get_by_role("button", name="Compare").click()
    settled(page, 1)
    choose(page, "Least squares", pane=1)
    settled(page, 1)
    before = mean_line(page, 0), mean_line(page, 1)
    n = count(page)
    page.mouse.click(*spot(page, 0.5, 0.9, pane=1))
    settled(page, 0)
    settled(page, 1)
    assert page.locator(".pane >> nth=1 >> .main-plot .point").count() == count(page) == n + 1
    assert all(new != old for new, old in zip((mean_line(page, 0), mean_line(page, 1)), before, strict=True))
    page.get_by_role("button", name="Compare").click()
    assert page.locator(".pane").count() == 1


def test_a_kernel_is_put_together(page, lab):
    start(page, lab)
    settled(page)
    before = mean_line(page)
    page.get_by_role("button", name="+ Add a kernel").click()
    page.get_by_label("Kernel of term 2, factor 1").select_option(label="Periodic")
    settled(page)
    page.get_by_role("button", name="Multiply term 2 by a kernel").click()
    settled(page)
    assert page.locator(".kernel .factor-head").count() == 3
    assert page.get_by_label("Period, as a number").is_visible()
    assert mean_line(page) != before
    assert "Periodic" in page.locator(".card.python code").inner_text()
    page.get_by_role("button", name="Remove").nth(2).click()
    page.get_by_role("button", name="Remove").nth(1).click()
    settled(page)
    assert page.locator(".kernel .factor-head").count() == 1
    assert mean_line(page) == before


def test_classes_are_drawn_as_a_map_and_keys_choose_the_class(page, lab):
    start(page, lab)
    page.get_by_role("button", name="Classification").click()
    settled(page)
    page.locator(".main-plot canvas").wait_for(state="visible")
    assert page.locator(".main-plot .contour path").get_attribute("d").startswith("M")
    page.keyboard.press("2")
    page.mouse.click(*spot(page, 0.02, 0.02))
    settled(page)
    assert page.locator(POINTS).last.get_attribute("class") == "point class-2"
    assert page.get_by_text("class 2", exact=True).is_visible()


def test_the_evidence_curve_sets_the_value(page, lab):
    start(page, lab)
    page.wait_for_selector(".card.curve .curve-line[d^=M]")
    before = page.get_by_label("Length scale, as a number").input_value()
    page.locator(".card.curve").scroll_into_view_if_needed()
    box = page.locator(".card.curve .frame").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 30)
    page.mouse.up()
    settled(page)
    assert float(page.get_by_label("Length scale, as a number").input_value()) < float(before)


def test_draws_equivalent_kernel_and_next_point(page, lab):
    start(page, lab)
    page.get_by_role("button", name="New draws").click()
    page.wait_for_function("() => document.querySelectorAll('.draws path').length === 8")
    first = page.locator(".main-plot .draws path").first.get_attribute("d")
    page.get_by_role("button", name="Prior").click()
    page.wait_for_function("(old) => document.querySelector('.draws path').getAttribute('d') !== old", arg=first)
    page.get_by_role("checkbox", name="Equivalent kernel").check()
    page.mouse.move(*spot(page, 0.4, 0.5))
    page.wait_for_selector(".small-plot .weight")
    page.get_by_label("Where to measure next").check()
    page.wait_for_selector(".next", state="attached")


def test_a_reload_restores_the_view(page, lab):
    start(page, lab)
    choose(page, "Least squares")
    page.get_by_label("Degree", exact=True).fill("6")
    page.mouse.click(*spot(page, 0.5, 0.9))
    page.get_by_role("button", name="Compare").click()
    settled(page, 1)
    settled(page, 0)
    page.wait_for_timeout(400)
    before = mean_line(page, 0), mean_line(page, 1), count(page)
    page.reload()
    settled(page, 1)
    settled(page, 0)
    assert (mean_line(page, 0), mean_line(page, 1), count(page)) == before
    assert page.get_by_label("Degree, as a number").first.input_value() == "6"


def test_a_copied_link_opens_the_same_view(page, lab):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    start(page, lab)
    choose(page, "Tree")
    settled(page)
    before = mean_line(page)
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Copied").wait_for()
    link = page.evaluate("() => navigator.clipboard.readText()")
    page.goto("about:blank")
    page.goto(link)
    settled(page)
    assert page.get_by_role("tab", selected=True).inner_text() == "Tree"
    assert mean_line(page) == before


@pytest.mark.parametrize(
    "hash", ["nonsense", "eyJ0YXNrIjoicmVncmVzc2lvbiJ9", "eyJ2IjoxLCJwYW5lcyI6W3sibW9kZWwiOiJ4In1dfQ"]
)
def test_a_broken_link_gives_the_default_view_with_a_note(page, lab, hash):
    start(page, lab, f"/#{hash}")
    assert page.get_by_role("alert").filter(has_text="couldn't be read").is_visible()
    assert count(page) > 10


def test_everything_by_keyboard(page, lab):
    start(page, lab)
    settled(page)
    n = count(page)
    page.locator(".main-plot .frame").focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert count(page) == n + 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.classList.contains('point')")
    x, _ = center(page, 0)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("(x) => document.querySelector('.main-plot .point').getBoundingClientRect().x > x", arg=x)
    page.keyboard.press("PageDown")
    page.keyboard.press("Backspace")
    assert count(page) == n
    page.keyboard.press("Control+z")
    assert count(page) == n + 1
    page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("ArrowLeft")
    settled(page)
    assert page.get_by_role("tab", selected=True).inner_text() != "Gaussian process"


def test_a_phone_has_no_sideways_scroll_and_touch_adds_moves_and_removes(phone, lab):
    start(phone, lab)
    settled(phone)
    wide = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not phone.evaluate(wide)
    n = count(phone)
    phone.locator(".main-plot .frame").scroll_into_view_if_needed()
    phone.touchscreen.tap(*spot(phone, 0.5, 0.95))
    settled(phone)
    assert count(phone) == n + 1
    long_press = """(index) => {
        const node = document.querySelectorAll(".main-plot .point")[index];
        const box = node.getBoundingClientRect();
        const at = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true };
        const touch = { pointerType: "touch", pointerId: 1, isPrimary: true };
        const root = node.ownerSVGElement;
        root.setPointerCapture = () => {};
        root.dispatchEvent(new PointerEvent("pointerdown", { ...at, ...touch }));
    }"""
    phone.evaluate(long_press, n)
    phone.wait_for_function("(n) => document.querySelectorAll('.main-plot .point').length === n", arg=n)
    phone.get_by_role("button", name="Compare").click()
    settled(phone, 1)
    assert not phone.evaluate(wide)


def test_back_goes_one_model_back(page, lab):
    start(page, lab)
    settled(page)
    page.wait_for_function("() => location.hash.length > 1")
    for name in ("Least squares", "Tree"):
        before = page.url
        choose(page, name)
        page.wait_for_function("(before) => location.href !== before", arg=before)
    page.mouse.click(*spot(page, 0.5, 0.9))
    settled(page)
    page.wait_for_timeout(400)
    for name in ("Least squares", "Gaussian process"):
        page.go_back()
        page.get_by_role("tab", name=name, exact=True, selected=True).wait_for()
        page.wait_for_timeout(400)
    page.go_forward()
    page.get_by_role("tab", name="Least squares", exact=True, selected=True).wait_for()


@pytest.mark.parametrize(
    ("view", "model", "label", "value"),
    [
        ("data=rings&model=adaboost&round=3", "AdaBoost", "Round", "3"),
        ("model=ridge,lasso&degree=5", "Ridge", "Degree", "5"),
        ("data=co2&model=gp&kernel=RBF*Periodic+Linear&period=2", "Gaussian process", "Period", "2"),
    ],
)
def test_a_view_can_be_named_in_words(page, lab, view, model, label, value):
    start(page, lab, f"/?{view}")
    settled(page)
    assert page.get_by_role("tab", selected=True).first.inner_text() == model
    assert page.get_by_label(f"{label}, as a number").first.input_value() == value
    assert not page.locator(".page-note:visible").count()


def test_without_the_token_there_is_a_page_that_says_what_to_do(page, lab, problems):
    problems.allow("401")
    page.goto(lab.address.split("?")[0])
    assert "terminal" in page.get_by_role("paragraph").inner_text()
