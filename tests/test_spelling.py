"""Docs, messages, comments and docstrings have American spelling, so that a search finds every page about a word."""

import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# British beginnings of words, and what they are here.
STEMS = {
    "behaviour": "behavior", "colour": "color", "favour": "favor", "flavour": "flavor", "honour": "honor",
    "labour": "labor", "neighbour": "neighbor", "rumour": "rumor", "centr(?=e[sd]?\\b|ing)": "center",
    "grey": "gray", "metr(?=es?\\b)": "meter", "fibr(?=es?\\b)": "fiber", "licence": "license", "defence": "defense",
    "artefact": "artifact", "judgement": "judgment", "acknowledgement": "acknowledgment", "sceptic": "skeptic",
    "labell(?=ed|ing)": "label", "modell(?=ed|ing)": "model", "cancell(?=ed|ing)": "cancel",
    "travell(?=ed|ing)": "travel", "signall(?=ed|ing)": "signal", "analys(?=ed?\\b|ing)": "analyz",
    "programmes?\\b": "program", "whilst": "while", "learnt": "learned", "spelt": "spelled",
}  # fmt: skip
# Verbs that end in -ize here.
IZE = (
    "apolog|categor|central|character|custom|diagonal|digit|discret|emphas|equal|final|formal|general|harmon|initial|"
    "item|linear|local|marginal|maxim|memor|minim|neutral|normal|optim|organ|orthogonal|parameter|penal|priorit|quant|"
    "random|raster|real|recogn|regular|serial|special|stabil|standard|summar|symmetr|factor|token|util|vector|visual|"
    "winsor"
)
BRITISH = re.compile(
    rf"(?<![\w`.])(?:(?:un|re|mis|non|de|sub|over|dis)?-?(?:{'|'.join(STEMS)})|"
    rf"\w*?(?:{IZE})is(?=e[sdr]?\b|ers?\b|ing\b|ations?\b|able\b))[a-z]*(?!\w)",
    re.IGNORECASE,
)
# In strings: the braces of f-strings, and the lines of examples.
CODE = re.compile(r"\{[^{}]*\}|^ *(?:>>>|\.\.\.) .*$", re.MULTILINE)
# Written from the records of benchmarks, which keep their words.
RECORDS = {"benchmarks.md", "honesty.md", "rivals.md"}
TEXTS = {".md", ".rst", ".json", ".js", ".css", ".html"}
FILES = [
    path
    for folder in ("docs", "src")
    for path in sorted((ROOT / folder).rglob("*"))
    if (path.suffix in TEXTS | {".py"} and path.name not in RECORDS)
    and not {"_build", "auto_examples", "reference", "__pycache__"} & set(path.parts)
    and not (path.suffix == ".json" and path.parent.name == "docs")
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def prose(path):
    """Line numbers and texts: of Python its comments and strings, of other files every line."""
    if path.suffix != ".py":
        yield from enumerate(path.read_text("utf-8").splitlines(), 1)
        return
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING} and not re.fullmatch(r"\W*\w+\W*", token.string):
                yield token.start[0], CODE.sub("", token.string)


def british(text):
    """The British words of a text; names in backquotes and attributes of HTML are not words."""
    return [found for found in BRITISH.findall(text) if found.lower() not in {"labelledby", "metres²"}]


@pytest.mark.parametrize("folder", ["docs", "src", ""])
def test_the_spelling_is_american(folder):
    files = [
        path for path in FILES if path.relative_to(ROOT).parts[0] == folder or (not folder and path.parent == ROOT)
    ]
    assert files
    found = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in files
        for line, text in prose(path)
        for word in british(text)
    ]
    assert not found, found


def test_british_words_are_found_and_american_ones_are_not():
    text = (
        "The colours of neighbouring centres were maximised, labelled and unmodelled; generalisation, analysed, grey."
    )
    assert british(text) == [
        *(
            "colours",
            "neighbouring",
            "centres",
            "maximised",
            "labelled",
            "unmodelled",
            "generalisation",
            "analysed",
            "grey",
        )
    ]
    assert not british(
        "noise raised precise otherwise analyses central metric metrics `centred` labels cancel exercise"
    )
    assert not british("supervised revised likewise surprise programmers parametric concise advised promises")
