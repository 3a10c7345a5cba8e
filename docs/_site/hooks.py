"""What MkDocs does beyond Markdown here: pages made from the registry and from the
public names, and MathML.

Pages made at build time cannot go stale: the theory pages are the registry's own data,
the reference is the list of public names. Formulas become MathML, which browsers draw
by themselves: no script from elsewhere.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File

_HERE = Path(__file__).parent
# MkDocs loads a hook by its path: its neighbors are found here
sys.path.insert(0, str(_HERE))

import commands  # noqa: E402
import gallery  # noqa: E402
import lessons  # noqa: E402
import reference  # noqa: E402
import symbols  # noqa: E402
import theory  # noqa: E402

_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.DOTALL
)
_ROLE = re.compile(r":(?:func|class|data|mod|meth):<code>~?((?:\w+\.)*)")
_SOURCE = re.compile(r"^\{\{ source (\w+) \}\}$", flags=re.MULTILINE)


def on_files(files, config):
    """Add the generated pages to the site."""
    docs = Path(config.docs_dir)
    shown, pictures = lessons.pages()
    made = {**theory.pages(docs), **reference.pages(), **shown}
    made |= {"commands.md": commands.page(), "theory/symbols.md": symbols.page()}
    for path, content in {**made, **pictures}.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown, **_):
    """``{{ source DFedSAM }}`` becomes the lines of the class that compute."""
    return _SOURCE.sub(lambda found: gallery.source(found[1]), markdown)


def on_page_content(content, **_):
    """Every formula of the page as MathML; the docstrings' roles as plain code."""
    return _ROLE.sub(r"<code>\1", _FORMULA.sub(_mathml, content))


def _mathml(found: re.Match[str]) -> str:
    # the converter knows `split`, which has the same columns
    formula = html.unescape(found[3]).strip().replace("{aligned}", "{split}")
    display = "block" if found[2] == "[" else "inline"
    drawn = convert(formula, display=display)
    return f'<div class="formula">{drawn}</div>' if display == "block" else drawn
