"""The house rules, read from the source: who imports whom, what pages may hold, randomness, pickle, documentation.

Each checker takes a module's source and gives what is wrong with it, so that it is itself tested on planted faults.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = sorted((ROOT / "steinglm").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]
SHIPPED = [*LIBRARY, *PAGES, *sorted((ROOT / "benchmarks").glob("*.py"))]

# A module may import from the layers above its own in this list, and from the group that it shares a string with.
LAYERS = [
    "exceptions checks styles drawing responses windows kernels",
    "stein scores matching mixture passes sums | glm | datasets tables"
    " | mlp expectations theory phases curves",
    "init rivals layerwise steps swim sources samples tracing reports | train workspace",
    "diagnostics jacobian signals travel",
    "estimators",
    "settings results experiment analysis walkthrough",
    "images sweep",
    "kinds",
    "worker run store cluster engine | export",
    "paper | link lessons | grid",
    "league",
    "dashboard | commands",
    "__main__",
]
PLACES = {
    module: (layer, group)
    for layer, groups in enumerate(LAYERS)
    for group in groups.split(" | ")
    for module in group.split()
}
# What the layers alone would allow.
STRANGERS = {("train", "stein"), ("train", "glm"), ("train", "datasets")}

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
CALCULATORS = {"abs", "divmod", "pow", "round", "sum"}
NUMERIC = {"math", "numpy", "pandas", "scipy", "sklearn", "statistics", "torch"}
UNPICKLERS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
LOADERS = {"torch.load", "pd.read_pickle", "pandas.read_pickle"}
GLOBAL_STREAMS = re.compile(
    r"torch\.(manual_seed|seed|set_rng_state|random\.(?!fork_rng$)\w+|cuda\.manual_seed\w*)"
    r"|(np|numpy)\.random\.(?!Generator$|SeedSequence$|default_rng$|get_state$|set_state$)\w+"
)
DRAWS = re.compile(
    r"(torch|(torch\.)?nn\.init)\."
    r"(rand|randn|randint|randperm|normal|bernoulli|multinomial|trunc_normal_|normal_|uniform_|orthogonal_)"
)
MADE = {".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "__pycache__", "build"}
# Put together from parts, so that this file passes its own test.
FOLDERS = "|".join(("work", "home", "root", "Users"))
HOSTS = "|".join(rf"{host}\.org" for host in ("pypi", "pythonhosted", "pytorch", "anaconda", "npmjs"))
TRACES = re.compile(rf"(?<![\w./])/(?:{FOLDERS})(?![\w-])|\b(?:{HOSTS})")


def module_of(path: Path) -> str:
    """The name below steinglm: "stein", "datasets.registry", "datasets" for its __init__, "" for steinglm's own."""
    parts = path.relative_to(ROOT / "steinglm").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported(source: str) -> Iterator[tuple[str, int]]:
    """Every module that is imported, anywhere in the source, as "package.module.name", and the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            yield from ((f"{origin}.{alias.name}", node.lineno) for alias in node.names)


def dotted(node: ast.AST) -> str:
    """The text of a name or of an attribute of a name, "np.random.seed"; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{inner}.{node.attr}" if (inner := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


def drawing_imports(source: str) -> list[str]:
    """Imports of Streamlit or Plotly."""
    return [
        f"line {n}: {name}" for name, n in imported(source) if name.split(".")[0] in {"streamlit", "plotly"}
    ]


def wrong_direction(source: str, module: str) -> list[str]:
    """Imports that go up or sideways, for the module of that name ("" is the package itself, which is below all)."""
    part = module.split(".")[0]
    layer, group = PLACES[part] if part else (-1, "")
    faults = []
    for target, line in imported(source):
        first, *rest = target.split(".")
        if first == "":
            faults.append(f"line {line}: a relative import, whose direction this test does not see")
        if first != "steinglm" or not rest or rest[0].startswith("__version"):
            continue
        other_layer, other_group = PLACES.get(rest[0], (len(LAYERS), rest[0]))
        allowed = other_layer < layer or (other_layer, other_group) == (layer, group)
        if not allowed or (part, rest[0]) in STRANGERS:
            faults.append(f"line {line}: {part or 'steinglm'} imports {rest[0]}")
    return faults


def calculations(source: str) -> list[str]:
    """Arithmetic and numerical libraries. A `/` with a literal text beside it joins a path and is none."""
    faults = [f"line {n}: {name}" for name, n in imported(source) if name.split(".")[0] in NUMERIC]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ARITHMETIC):
            sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
            texts = [isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides]
            if not (isinstance(node.op, ast.Div) and any(texts)):
                faults.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Call) and dotted(node.func) in CALCULATORS:
            faults.append(f"line {node.lineno}: {ast.unparse(node)}")
        elif isinstance(node, ast.Name) and node.id in {"pd", "np"}:
            faults.append(f"line {node.lineno}: {node.id}")
    return faults


def global_randomness(source: str) -> list[str]:
    """Seeds and draws of a global stream, and states set but not kept; a draw is any without `generator=`."""
    used = {dotted(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    restoring = {name for name in used if name.startswith("random.")} == {
        "random.getstate",
        "random.setstate",
    }
    faults = [
        f"line {n}: {name}"
        for name, n in imported(source)
        if name.split(".")[0] in {"random", "secrets"} and not (name == "random" and restoring)
    ]
    faults += [f"line {n}: {name}" for name, n in imported(source) if GLOBAL_STREAMS.fullmatch(name)]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and GLOBAL_STREAMS.fullmatch(dotted(node)):
            faults.append(f"line {node.lineno}: {dotted(node)}")
        if (
            isinstance(node, ast.Call)
            and DRAWS.fullmatch(dotted(node.func))
            and all(keyword.arg != "generator" for keyword in node.keywords)
        ):
            faults.append(f"line {node.lineno}: {ast.unparse(node)} without generator=")
    return faults


def unpickling(source: str) -> list[str]:
    """Modules and calls that unpickle, or could be told to by a file."""
    faults = [f"line {n}: {name}" for name, n in imported(source) if name.split(".")[0] in UNPICKLERS]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            allowed = any(k.arg == "allow_pickle" and ast.unparse(k.value) != "False" for k in node.keywords)
            if allowed or dotted(node.func) in LOADERS:
                faults.append(f"line {node.lineno}: {ast.unparse(node)}")
    return faults


def undocumented(source: str) -> list[str]:
    """A missing module docstring or `__all__`, and public names without a docstring, methods included."""
    tree = ast.parse(source)
    faults = [] if ast.get_docstring(tree) else ["no docstring"]
    if len(tree.body) < 2:  # a package that is only described
        return faults
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    public = [ast.literal_eval(node.value) for node in assigned if dotted(node.targets[0]) == "__all__"]
    if not public:
        return [*faults, "no __all__"]
    items: list[ast.FunctionDef | ast.ClassDef] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in public[0]:
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef) and m.name[0] != "_"]
            items += [node, *(methods if isinstance(node, ast.ClassDef) else [])]
    missing = [item for item in items if not ast.get_docstring(item)]
    return faults + [f"line {item.lineno}: {item.name} has no docstring" for item in missing]


def tracked() -> list[Path]:
    """The files of the repository: git's list with what is not ignored, or what lies here if git is not at hand."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found = [ROOT / line for line in listed.split("\0") if line]
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if not MADE & set(path.relative_to(ROOT).parts)]
    return sorted(path for path in found if path.is_file())


def machine_traces(text: str) -> list[str]:
    """Absolute paths of somebody's machine, and hosts of package registries."""
    lines = enumerate(text.splitlines(), start=1)
    return [f"line {n}: {match[0]}" for n, line in lines for match in TRACES.finditer(line)]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


RULES: list[tuple[Callable[[str], list[str]], list[Path]]] = [
    (drawing_imports, [path for path in LIBRARY if not module_of(path).startswith("dashboard")]),
    (calculations, PAGES),
    (global_randomness, SHIPPED),
    (unpickling, SHIPPED),
    (undocumented, LIBRARY),
]


@pytest.mark.parametrize(
    ("rule", "path"),
    [pytest.param(rule, path, id=f"{rule.__name__}-{name(path)}") for rule, paths in RULES for path in paths],
)
def test_the_rule_holds(rule: Callable[[str], list[str]], path: Path) -> None:
    assert rule(path.read_text()) == []


@pytest.mark.parametrize("path", LIBRARY, ids=name)
def test_imports_point_downwards(path: Path) -> None:
    part = module_of(path).split(".")[0]
    assert not part or part in PLACES, f"{part} has no place in LAYERS yet"
    assert wrong_direction(path.read_text(), module_of(path)) == []


def test_the_layers_name_existing_modules() -> None:
    assert set(PLACES) == {module_of(path).split(".")[0] for path in LIBRARY} - {""}


@pytest.mark.parametrize("path", SHIPPED[len(LIBRARY) :], ids=name)
def test_every_script_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_no_file_knows_a_machine_or_a_registry() -> None:
    faults = {name(path): machine_traces(path.read_text(errors="ignore")) for path in tracked()}
    assert {path: found for path, found in faults.items() if found} == {}


DOCUMENTED = '"""A module."""\n__all__ = ["f"]\n'


@pytest.mark.parametrize(
    ("checker", "source"),
    [
        (drawing_imports, "import streamlit as st"),
        (drawing_imports, "def f():\n    from plotly import graph_objects"),
        (calculations, "x = depth * 2"),
        (calculations, "x /= 2"),
        (calculations, "x = rows / width"),
        (calculations, "x = round(loss)"),
        (calculations, "import numpy as np"),
        (calculations, "table = pd.DataFrame()"),
        (global_randomness, "torch.manual_seed(0)"),
        (global_randomness, "from torch import manual_seed"),
        (global_randomness, "np.random.seed(0)"),
        (global_randomness, "x = np.random.normal(size=3)"),
        (global_randomness, "import random"),
        (global_randomness, "import random\nx = random.random()"),
        (global_randomness, "with torch.random.manual_seed(0): pass"),
        (global_randomness, "x = torch.randn(3)"),
        (global_randomness, "nn.init.trunc_normal_(w)"),
        (unpickling, "import pickle"),
        (unpickling, "def f():\n    from joblib import load"),
        (unpickling, "x = torch.load(path)"),
        (unpickling, "x = np.load(path, allow_pickle=True)"),
        (undocumented, "__all__ = []\nx = 1"),
        (undocumented, '"""A module."""\nx = 1'),
        (undocumented, DOCUMENTED + "def f(): pass"),
        (undocumented, DOCUMENTED + 'class f:\n    """A class."""\n    def g(self): pass'),
        (machine_traces, f"see {'/'.join(('', 'home', 'me', 'data'))}"),
        (machine_traces, f'PATH = "{"/".join(("", "root"))}"'),
        (machine_traces, "https://" + ".".join(("files", "pythonhosted", "org"))),
    ],
)
def test_a_planted_fault_is_found(checker: Callable[[str], list[str]], source: str) -> None:
    assert len(checker(source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("stein", "from steinglm.glm import fit_output"),
        ("datasets.registry", "from steinglm import mlp"),
        ("train", "from steinglm.init import INITIALIZERS"),
        ("train", "import steinglm.stein"),
        ("experiment", "def f():\n    from steinglm.engine import Engine"),
        ("engine", "from steinglm.dashboard import charts"),
        ("exceptions", "from steinglm.mlp import build"),
        ("", "from steinglm.experiment import train"),
        ("glm", "from .stein import cross_moment"),
        ("mlp", "import steinglm.unheard_of"),
    ],
)
def test_a_planted_import_is_found(module: str, source: str) -> None:
    assert len(wrong_direction(source, module)) == 1


@pytest.mark.parametrize(
    ("checker", "source"),
    [
        (drawing_imports, "import streamlined"),
        (calculations, 'HERE / "router.py"'),
        (calculations, "settings | {'depth': 1}"),
        (global_randomness, "g = np.random.default_rng(0)\nt = torch.Generator().manual_seed(0)"),
        (global_randomness, "import random\nrandom.setstate(random.getstate())"),
        (global_randomness, "with torch.random.fork_rng([]): pass"),
        (global_randomness, "x = torch.randn(3, generator=g)\ny = g.normal(size=3)"),
        (unpickling, "x = safetensors.torch.load(data)\ny = np.load(path, allow_pickle=False)"),
        (undocumented, DOCUMENTED + 'def f():\n    """Nothing."""\ndef _g(): pass'),
        (machine_traces, "a/work/b, https://example.com/home, ../root, /homework"),
    ],
)
def test_what_is_right_is_let_through(checker: Callable[[str], list[str]], source: str) -> None:
    assert checker(source) == []
