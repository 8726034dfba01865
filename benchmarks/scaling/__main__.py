"""Measure, and write the numbers, the figure and the page."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.scaling.cases import CASES
from benchmarks.scaling.measure import Curve, Point, measure_all
from benchmarks.scaling.page import draw, page

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = DOCS / "scaling.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="measure only these, and keep the numbers of the others")
    parser.add_argument("--page", action="store_true", help="write figure and page from the numbers that there are")
    given = parser.parse_args()
    found = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    if not given.page:
        curves, sizes = measure_all(given.names)
        found["summary_bytes"] = found["summary_bytes"] if given.names else sizes
        known = {curve["name"]: curve for curve in found.get("curves", [])}
        known |= {curve.name: asdict(curve) for curve in curves}
        found["curves"] = [known[case.name] for case in CASES if case.name in known]
    NUMBERS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    curves = [Curve(**{**curve, "points": [Point(**p) for p in curve["points"]]}) for curve in found["curves"]]
    draw(curves, DOCS / "images" / "scaling.png")
    text = page(curves, found["summary_bytes"])
    (DOCS / "which-method.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
