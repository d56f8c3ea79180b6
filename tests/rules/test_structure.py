"""The house rules, as tests: layers, sizes, doors, and a public surface that is what it says."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "memoranda"
MODULE_LINES, FUNCTION_LINES = 400, 60
NAMES_TO_AVOID = ("util", "helper", "manager", "base", "impl", "misc", "common")


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(SOURCE.rglob("*.py"))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_layers_hold() -> None:
    """No import points upward and siblings do not know each other (import-linter's contracts)."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_sizes_and_names(path: Path) -> None:
    """A module holds one thing (at most 400 lines), a function reads at a glance (60), names say what is in them."""
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES
    long = [
        node.name for node in functions(ast.parse(text)) if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []
    assert not any(word in path.stem.lower() for word in NAMES_TO_AVOID)


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "tests").rglob("test_*.py")),
    ids=lambda path: str(path.relative_to(ROOT / "tests")),
)
def test_every_test_states_its_fact(path: Path) -> None:
    """Each test has a docstring of a sentence, and tests stay within the function size too."""
    for node in functions(ast.parse(path.read_text(encoding="utf-8"))):
        if node.name.startswith("test_"):
            fact = ast.get_docstring(node)
            assert fact, f"{path.name}: {node.name} has no docstring"
            assert fact.rstrip().endswith("."), f"{path.name}: {node.name}"
            assert (node.end_lineno or 0) - node.lineno + 1 <= FUNCTION_LINES, f"{path.name}: {node.name}"


def test_domain_is_pure() -> None:
    """The domain imports no files, databases, network, processes or environment, and reads no clock."""
    forbidden = {
        "os",
        "sqlite3",
        "apsw",
        "socket",
        "subprocess",
        "shutil",
        "tempfile",
        "time",
        "random",
        "secrets",
    }
    for path in sorted((SOURCE / "domain").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not {name.split(".")[0] for name in names} & forbidden, path.name
            if isinstance(node, ast.ImportFrom) and node.module == "pathlib":
                assert all(alias.name.startswith("Pure") for alias in node.names), path.name
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("now", "utcnow", "today"), path.name


def callers(names: set[str]) -> set[str]:
    """Modules (of services and above) that call a method of one of these names on something."""
    found: set[str] = set()
    for path in modules():
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(("adapters/", "testing/", "domain/", "ports/")):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                owner = node.func.value
                if isinstance(owner, ast.Attribute | ast.Name):
                    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id
                    if name in ("index", "documents", "ledger"):
                        found.add(place)
    return found


def test_one_door_for_writing() -> None:
    """Files and records are changed by the gateway's own modules alone; the index follows in one place."""
    assert callers({"replace"}) == {"services/writing.py"}
    assert callers({"prepare"}) == {"services/writing.py"}
    assert callers({"commit"}) == {"services/gateway.py", "services/writing.py"}
    rebuilding = {"services/indexing.py", "services/verify.py", "services/erase.py", "memory/home.py"}
    assert callers({"put", "clear"}) == rebuilding
    assert callers({"scrub", "compact"}) == {"services/erase.py"}
    assert callers({"put_session"}) == {"services/sessions.py"}
    assert callers({"put_assertions", "settle"}) == {"services/conflicts.py"}
    assert callers({"put_gate", "rule_gate"}) == {"services/gating.py"}
    assert callers({"put_vectors"}) == {"services/embedding.py"}


def test_one_door_for_searching() -> None:
    """The index is searched by recall alone, and read for embedding and verification elsewhere."""
    searching = {"search_text", "search_vector", "newest", "fetch", "similarities", "statistics", "turn_evidence"}
    parts = {"recall_notes": "note_candidates", "recall_past": "recall_past", "recall_turns": "turn_candidates"}
    assert callers(searching) == {"services/recall.py", *(f"services/{name}.py" for name in parts)}
    assert callers({"search_history"}) == {"services/recall_past.py"}
    for name, function in parts.items():
        assert f"{function}(" not in "".join(
            path.read_text(encoding="utf-8")
            for path in modules()
            if path.relative_to(SOURCE).as_posix() not in ("services/recall.py", f"services/{name}.py")
        )


def defined(tree: ast.Module) -> Iterator[str]:
    """Every function, class and constant of a module's own level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def read(tree: ast.Module) -> Iterator[str]:
    """Every name that a module reads; an import counts where it gives another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if alias.asname)


def test_nothing_is_defined_that_nothing_reads() -> None:
    """A module's names are read somewhere in the package, or are there for users or a test of the tools."""
    for_others = {"__getattr__", "__dir__", "__all__", "KEYWORDS", *memoranda.__all__}
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules() if "testing" not in path.parts}
    used = {name for tree in trees.values() for name in read(tree)}
    unread = {
        f"{path.relative_to(SOURCE).as_posix()}: {node}"
        for path, tree in trees.items()
        for node in defined(tree)
        if node not in used | for_others
    }
    assert len(used) > len(trees)
    assert unread == set()


def test_public_names_are_there_and_no_more() -> None:
    """`__all__` is sorted and true, and importing the package loads nothing heavy."""
    assert list(memoranda.__all__) == sorted(memoranda.__all__)
    for name in memoranda.__all__:
        assert getattr(memoranda, name) is not None
    with pytest.raises(AttributeError):
        _ = memoranda.nothing_of_this_name
    heavy = "numpy", "onnxruntime", "mcp", "apsw", "typer", "markdown_it"
    code = f"import sys, memoranda; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_swallowed_below_the_interfaces() -> None:
    """No bare `except Exception` outside the interfaces: foreign errors are named where they end."""
    for path in modules():
        if path.relative_to(SOURCE).parts[0] in ("interfaces", "__main__.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = node.type
                assert caught is not None, path
                assert not (isinstance(caught, ast.Name) and caught.id == "Exception"), path
                if isinstance(caught, ast.Name) and caught.id == "BaseException":
                    assert any(isinstance(inner, ast.Raise) for inner in ast.walk(node)), path
