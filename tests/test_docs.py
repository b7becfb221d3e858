"""The documentation runs: Python blocks are executed, links lead somewhere, and the functions that are named exist."""

import pkgutil
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "deploy" / "README.md",
    *sorted(ROOT.glob("docs/*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
NAMED = re.compile(r"`([\w.]+)`")


def python_blocks(text: str) -> Iterator[str]:
    """The Python blocks of a Markdown text, each on its own lines of the text, so that a traceback points there."""
    for block in BLOCK.finditer(text):
        if block[1] == "python":
            yield "\n" * text.count("\n", 0, block.start(2)) + block[2]


def run_blocks(text: str, file: str) -> None:
    """Run the Python blocks one after the other; later ones see the names of earlier ones.

    What they print is the block of text that follows, if one does; its numbers to two per cent.
    """
    names: dict[str, object] = {"__name__": "__main__"}
    for source in python_blocks(text):
        with redirect_stdout(StringIO()) as printed:
            exec(compile(source, file, "exec"), names)
        after = "\n".join(text.split("\n")[source.count("\n") + 1 :])
        if told := OUTPUT.match(f"\n{after.lstrip()}"):
            (words, numbers), (told_words, told_numbers) = map(apart, (printed.getvalue(), told[1]))
            assert words == told_words
            assert numbers == pytest.approx(told_numbers, rel=0.02)


def apart(text: str) -> tuple[list[str], list[float]]:
    """The words of a text that are no numbers, and the numbers."""
    numeric = re.compile(r"-?\d+(\.\d+)?")
    words = text.split()
    return [w for w in words if not numeric.fullmatch(w)], [float(w) for w in words if numeric.fullmatch(w)]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a text."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def dead_links(text: str, folder: Path) -> list[str]:
    """Links to files or headings that are not there; and `module.name` linked to a file that does not define it."""
    faults = []
    for label, target in LINK.findall(BLOCK.sub("", text)):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        found = (folder / path).resolve()
        if not found.exists() or (anchor and anchor not in anchors(text if not path else found.read_text())):
            faults.append(target)
        elif (named := NAMED.fullmatch(label)) and found.is_relative_to(ROOT / "steinglm"):
            module = ".".join(found.relative_to(ROOT).with_suffix("").parts)
            if not defines(module, f"steinglm.{named[1]}"):
                faults.append(f"{named[1]} in {path}")
    return faults


def defines(module: str, name: str) -> bool:
    """Whether `name`, with its package, is an object of that module."""
    if not name.startswith(f"{module}."):
        return False
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.fixture(params=DOCUMENTS, ids=lambda path: path.name)
def document(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    assert path.exists(), f"{path.name} is missing: the repository is not complete without it"
    return path


def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what an example writes does not stay
    rows = "".join(f"{i % 17},{i % 5},{i % 17 + 3.5 * (i % 5)}\n" for i in range(200))
    (tmp_path / "houses.csv").write_text("rooms,floors,price\n" + rows)
    run_blocks(document.read_text(), str(document))


def test_links_lead_somewhere(document: Path) -> None:
    assert dead_links(document.read_text(), document.parent) == []


def test_blocks_are_closed_and_name_their_language(document: Path) -> None:
    text = document.read_text()
    assert text.count("```") == 2 * len(BLOCK.findall(text))
    assert all(language for language, _ in BLOCK.findall(text))


def test_the_readme_has_examples() -> None:
    readme = ROOT / "README.md"
    assert readme.exists(), "README.md is missing"
    assert len(list(python_blocks(readme.read_text()))) >= 1


def test_output_that_is_not_printed_is_found() -> None:
    example = "```python\nprint('loss', {})\n```\n\n```text\nloss 0.5\n```\n"
    run_blocks(example.format("0.501"), "example")
    for wrong in ("0.6", "0.5, 'more'", ""):
        with pytest.raises(AssertionError):
            run_blocks(example.format(wrong), "example")


def test_a_broken_example_is_found() -> None:
    text = "# T\n\n```python\nx = 1\n```\n\n```bash\nexit 1\n```\n\n```python\nassert x == 2\n```\n"
    with pytest.raises(AssertionError) as caught:
        run_blocks(text, "planted.md")
    assert caught.traceback[-1].lineno == 11  # counted from 0


@pytest.mark.parametrize(
    "text",
    [
        "[a](missing.md)",
        "![a](docs/missing.png)",
        "# One\n\n[a](#two)",
        "[`stein.no_such_name`](steinglm/stein.py)",
        "[`stein.cross_moment`](steinglm/glm.py)",
    ],
)
def test_a_dead_link_is_found(text: str) -> None:
    assert len(dead_links(text, ROOT)) == 1


def test_a_live_link_is_let_through() -> None:
    text = "# Why not?\n\n[a](#why-not) [b](LICENSE) [`stein.cross_moment`](steinglm/stein.py) [c](https://example.com)"
    assert dead_links(text, ROOT) == []
