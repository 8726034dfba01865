"""Lines of code by package, without docstrings, comments and blank lines: `python -m tests.size`."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "credo"


def lines_of_code(text: str) -> int:
    """How many lines hold code."""
    documented = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(
            node
        ):
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in documented
        for number, line in enumerate(text.splitlines(), 1)
    )


def package_of(path: Path) -> str:
    """core, app and study have packages of their own."""
    folders = path.relative_to(SOURCE).parts[:-1]
    return "/".join(folders[:2] if folders[:1] in [("core",), ("app",), ("study",)] else folders[:1]) or "."


def main() -> None:
    lines, files = Counter(), Counter()
    for path in SOURCE.rglob("*.py"):
        lines[package_of(path)] += lines_of_code(path.read_text(encoding="utf-8"))
        files[package_of(path)] += 1
    for package in sorted(lines):
        print(f"{package:20s} {lines[package]:6d} lines {files[package]:4d} files")
    print(f"{'all':20s} {lines.total():6d} lines {files.total():4d} files")


if __name__ == "__main__":
    main()
