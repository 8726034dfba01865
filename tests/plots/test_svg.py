import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.figure import Figure

from credo.plots import calibration, coefficients, predicted_vs_actual, shorten, svg
from credo.plots.styling import canvas, legend, name_axis

HOSTILE = '<script>alert(1)</script> & "quotes" \'id="x"\' ]]> $\\frac{1}{2}$ #0072b2'


def drawing(**options):
    names = [HOSTILE, "plain"]
    return svg(
        lambda ax: coefficients(names, [1.0, -2.0], lower=[0.5, -3.0], upper=[1.5, -1.0], label=HOSTILE, ax=ax),
        **{"prefix": "one", "label": HOSTILE, **options},
    )


def test_it_is_well_formed_and_says_what_it_shows():
    root = ElementTree.fromstring(drawing())
    assert root.tag == "svg"
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == HOSTILE


def test_hostile_names_stay_text():
    root = ElementTree.fromstring(drawing())
    assert "script" not in {element.tag for element in root.iter()}
    assert HOSTILE in {element.text for element in root.iter("text")}
    assert "<script" not in drawing()


def test_ids_of_two_figures_in_one_page_are_apart_and_resolve():
    pages = [drawing(prefix="one"), drawing(prefix="two")]
    ids = [set(re.findall(r' id="([^"]+)"', page)) for page in pages]
    assert ids[0]
    assert not ids[0] & ids[1]
    for page, own in zip(pages, ids, strict=True):
        root = ElementTree.fromstring(page)
        values = [value for element in root.iter() for key, value in element.attrib.items() if key != "aria-label"]
        used = {name for value in values for name in re.findall(r"(?:^|url\()#([\w.-]+)", value)}
        assert used
        assert used <= own


def test_the_same_figure_is_the_same_bytes():
    assert drawing() == drawing()


def test_hatches_keep_their_pattern():
    pit = np.concatenate([np.full(100, 0.01), np.linspace(0, 1, 100)])
    page = svg(lambda ax: calibration(pit, ax=ax), prefix="pit", label="pit")
    patterns = set(re.findall(r'<pattern id="([^"]+)"', page))
    assert patterns
    assert set(re.findall(r"fill: url\(#([^)]+)\)", page)) == patterns


def test_the_page_decides_fonts_and_colours():
    page = drawing()
    assert "font-family" not in page
    assert "<style" not in page
    assert "var(--accent, #0072b2)" in page
    painted = re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", page)
    assert painted == []


def test_nothing_is_fetched():
    assert not re.search(r'(?:href|src)="(?!#)', drawing())
    assert "http" not in drawing()


def test_points_cost_little():
    y = np.random.default_rng(0).normal(size=100_000)
    page = svg(lambda ax: predicted_vs_actual(y, y, interval=(y - 1, y + 1), ax=ax), prefix="many", label="many rows")
    assert len(page) < 150_000


def test_control_characters_do_not_break_the_file():
    page = svg(lambda ax: ax.set_title(shorten("a\x00b\x1bc\ud800d")), prefix="t", label="t")
    assert "a b c d" in page


@pytest.mark.parametrize(("width", "text"), [(10, "abcdef…890"), (16, "abcdefghij…67890")])
def test_shortening_keeps_both_ends(width, text):
    assert shorten("abcdefghijklmnop1234567890", width=width) == text
    assert len(text) == width


def test_names_may_be_anything():
    assert shorten("") == shorten(" \n ") == "(no name)"
    assert shorten(3.5) == "3.5"
    assert shorten("温度") == "温度"


@pytest.mark.parametrize(
    ("limits", "unit", "tick"),
    [((-2e7, 3e7), " (×10⁷)", "−1"), ((0, 3e-6), " (×10⁻⁶)", "2"), ((0, 30_000), "", "20000")],
)
def test_large_and_small_axes_name_their_power_once(limits, unit, tick):
    ax = Figure().subplots()
    ax.set_xlim(limits)
    name_axis(ax.xaxis, "price")
    ax.figure.draw_without_rendering()
    assert ax.get_xlabel() == f"price{unit}"
    assert ax.xaxis.get_offset_text().get_text() == ""
    assert tick in [text.get_text().removesuffix(".0") for text in ax.get_xticklabels()]


def test_importing_credo_does_not_import_matplotlib():
    code = "import sys, credo; assert not [m for m in sys.modules if m.startswith('matplotlib')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_words_are_clear():
    code = "import sys; sys.modules['matplotlib'] = None; import credo.plots"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "credo.plots draws with matplotlib, which is not installed: pip install 'credo[plots]'" in ended.stderr


def test_names_do_not_turn_the_direction_of_writing():
    assert shorten("\u202egnp.\u2066exe\u2069") == "gnp.exe"
    assert shorten("שלום") == "שלום"


def test_names_with_dollar_signs_are_no_formulas():
    page = svg(
        lambda ax: coefficients(["$0_$5", "$5_$10"], [1, 2], lower=[0, 1], upper=[2, 3], label="$p_$", ax=ax),
        prefix="cost",
        label="prices",
    )
    texts = {element.text for element in ElementTree.fromstring(page).iter("text")}
    assert {"$0_$5", "$5_$10", "$p_$"} <= texts


def test_a_legend_shows_dollar_signs_as_they_are():
    def draw(ax):
        with canvas(ax) as ax:
            ax.plot([0, 1], [0, 1], label="$5_$10")
            legend(ax)

    assert ">$5_$10<" in svg(draw, prefix="legend", label="legend")


def test_threads_draw_the_same_bytes_as_one():
    def work(i):
        def draw(ax):
            coefficients([f"a{i}", "b"], [i, 2], lower=[0, 1], upper=[9, 9], ax=ax)

        return svg(draw, prefix=f"f{i}", label="figure")

    before = dict(rcParams)
    serial = [work(i) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == serial
    assert dict(rcParams) == before


def test_letters_that_the_font_lacks_are_kept_without_a_warning(recwarn):
    page = svg(lambda ax: ax.set_title("温度 😀"), prefix="t", label="t")
    assert "温度 😀" in page
    assert not recwarn.list
