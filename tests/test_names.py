"""A public class, function or type alias has a name of its own in the package."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "dfltheory"
COMMAND = "the command of this name calls the library function"
LOOKUP = "one lookup by name for each registry, read as tasks.get, models.names, ..."
ALLOWED = {
    "atlas": COMMAND,
    "audit": COMMAND,
    "compare": COMMAND,
    "falsify": COMMAND,
    "fetch": COMMAND,
    "referee": COMMAND,
    "sweep": COMMAND,
    "train": COMMAND,
    "validate": COMMAND,
    "verify": COMMAND,
    "get": LOOKUP,
    "names": LOOKUP,
    "along": "plots.along and tasks.estimate.along are names that users import",
    "clients": "plots.clients is imported by users; the rule is named in saved proofs",
}
"""Names defined in several modules, each with the reason."""


def definitions(tree):
    """Return the names of a module's public classes, functions and type aliases."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    conditional = [node for node in tree.body if isinstance(node, (ast.If, ast.Try))]
    nodes = [*tree.body, *(inner for outer in conditional for inner in outer.body)]
    names = {node.name for node in nodes if isinstance(node, kinds)}
    for node in nodes:
        names |= {name for name in assigned_names(node) if is_type_name(name)}
    return {name for name in names if not name.startswith("_")}


def assigned_names(node):
    """Return the names to which a statement assigns a value."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {target.id for target in targets if isinstance(target, ast.Name)}


def is_type_name(name):
    """Return whether a name is written like a class, not like a constant."""
    return name[0].isupper() and not name.isupper()


def modules_by_name(folder):
    """Return the modules that define each public name."""
    modules = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        for name in definitions(ast.parse(path.read_text())):
            modules[name].append(str(path.relative_to(folder)))
    return modules


@cache
def repeated_names(folder):
    """Return the names that several modules define, with these modules."""
    modules = modules_by_name(folder)
    return {name: places for name, places in modules.items() if len(places) > 1}


def test_a_public_name_is_defined_in_one_module_unless_a_reason_is_given():
    repeated = repeated_names(PACKAGE)
    assert {n: places for n, places in repeated.items() if n not in ALLOWED} == {}


def test_each_exception_is_a_name_of_several_modules():
    assert set(ALLOWED) <= set(repeated_names(PACKAGE))


def test_repeated_names_of_two_modules_are_found(tmp_path):
    (tmp_path / "one.py").write_text("class Box: ...\nPair = tuple\nN = 1\n")
    (tmp_path / "two.py").write_text(
        "if True:\n    def Box(): ...\nPair = list\nN = 2\n"
    )
    both = ["one.py", "two.py"]
    assert repeated_names(tmp_path) == {"Box": both, "Pair": both}
