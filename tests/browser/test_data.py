"""The page "Your data" in Chromium: upload, run, stop, reload, a killed run, hostile names, predictions."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
# The first worker of a busy machine takes its time.
PATIENCE = 90_000


def table(n=60):
    rng = np.random.default_rng(0)
    x, group = rng.uniform(0, 10, n), rng.choice(["a", "b<script>"], n)
    y = 3 * x + (group == "a") + 0.1 * rng.standard_normal(n)
    return f"x,{HOSTILE},y\n" + "".join(f"{a:.4f},{g},{c:.4f}\n" for a, g, c in zip(x, group, y, strict=True))


def give(page, name, content, box=".drop"):
    content = content.encode() if isinstance(content, str) else content
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.locator(f"{box} input[type=file]").set_input_files(file)


@pytest.fixture
def at_columns(page, lab):
    """The page with a table whose columns are shown."""
    page.set_default_timeout(PATIENCE)
    page.goto(lab.url("/data"))
    give(page, "<b>rows.csv", table())
    expect(page.locator("#target")).to_be_visible(timeout=PATIENCE)
    return page


def run(page, seconds):
    page.select_option("#time", seconds)
    page.get_by_role("button", name=re.compile("Run")).click()


def children(pid):
    """The ids of the runs that a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
        except (OSError, IndexError):
            continue
        if parent == pid and command[3:5] == [b"credo", b"fit"]:
            found.append(int(entry.name))
    return found


def test_from_a_file_to_a_prediction(at_columns, problems):
    page = at_columns
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    expect(page.locator("h1")).to_have_text("<b>rows.csv")
    expect(page.locator(".columns th.name").nth(1)).to_have_text(HOSTILE)
    expect(page.locator("#target")).to_have_value("y")
    run(page, "300")
    expect(page.locator(".board tbody tr").nth(1)).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#result")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#result")).to_contain_text("Selected:")
    address = page.url
    # A reload finds the job again.
    page.reload()
    assert page.url == address
    expect(page.locator(".board tr.selected")).to_be_visible()
    answer = page.locator(".answer")
    expect(answer.locator(".big")).to_be_visible(timeout=PATIENCE)
    page.get_by_label("x", exact=True).fill("5")
    page.get_by_label(HOSTILE, exact=True).select_option("a")
    expect(answer.locator(".big")).to_have_text(re.compile(r"^1[56]\."))
    expect(answer.locator("svg.density")).to_be_visible()
    page.get_by_label("x", exact=True).fill("70")
    expect(answer).to_contain_text("Outside the training data: x = 70")
    give(page, "new.csv", f"x,{HOSTILE}\n1,a\n99,b<script>\n", box="#predict")
    expect(page.locator("#predict strong")).to_have_text("2 rows of new.csv predicted", timeout=PATIENCE)
    expect(page.locator("#predict tr.outside")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("link", name="Model file").click()
    assert download.value.suggested_filename == "model.credo"
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open the report").click()
    report = popup.value
    report.wait_for_load_state()
    assert "Predicting y from" in report.content()
    assert report.locator("img[src=x]").count() == 0 and page.locator("main img, main script, main b").count() == 0
    assert dialogs == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bytes(range(256)) * 9, "holds binary data"),
        (b"", "The file is empty."),
        (b"x\n1\n2\n", "has only one column"),
        (b"x,y\n", "no rows"),
        (b"PAR1" + bytes(99), "Parquet"),
    ],
    ids=["junk", "empty", "one column", "no rows", "broken parquet"],
)
def test_a_bad_file_is_explained_beside_the_drop_zone(page, lab, problems, content, words):
    problems.allow("422")
    page.goto(lab.url("/data"))
    give(page, "bad.csv", content)
    alert = page.locator(".drop [role=alert]")
    expect(alert).to_contain_text(words, timeout=PATIENCE)
    expect(page.get_by_role("button", name="Choose a file")).to_be_enabled()


def test_a_killed_run_is_reported_and_can_be_run_again(at_columns, lab):
    page = at_columns
    page.get_by_label(f"Kind of {HOSTILE}").select_option("leave out")
    expect(page.locator(".columns tr.out")).to_have_count(1)
    run(page, "300")
    expect(page.locator(".board tbody tr").nth(1)).to_be_visible(timeout=PATIENCE)
    [worker] = children(lab.process.pid)
    os.kill(worker, signal.SIGKILL)
    expect(page.locator(".settings .error")).to_contain_text("was killed (SIGKILL)")
    expect(page.get_by_role("button", name="Run again")).to_be_enabled()
    page.get_by_role("link", name="Another file").click()
    expect(page.locator(".jobs li").first).to_contain_text("failed")


def test_the_page_can_be_used_by_keyboard_and_fits_a_phone(phone, lab):
    phone.goto(lab.url("/data"))
    expect(phone.locator(".drop")).to_be_visible()
    button = phone.get_by_role("button", name="Choose a file")
    with phone.expect_file_chooser() as chooser:
        button.press("Enter")
    chooser.value.set_files({"name": "t.csv", "mimeType": "text/csv", "buffer": table().encode()})
    expect(phone.locator("#target")).to_be_visible(timeout=PATIENCE)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    controls = "[...document.querySelectorAll('select, input:not([type=file])')]"
    assert phone.evaluate(f"{controls}.every((node) => node.labels.length || node.ariaLabel)")
