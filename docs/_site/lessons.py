"""The notebooks as pages: text, code, what it printed and drew, as they were
executed.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def pages() -> tuple[dict[str, str], dict[str, bytes]]:
    """lessons/*.md and an index by path, and the pictures in them."""
    texts: dict[str, str] = {}
    pictures: dict[str, bytes] = {}
    rows = [
        "# Lessons",
        "",
        "Notebooks, shown as they were executed; they lie in `notebooks/`.",
        "",
    ]
    for file in sorted(NOTEBOOKS.glob("*.ipynb")):
        name = f"lessons/{file.stem}.md"
        texts[name] = _page(
            json.loads(file.read_text(encoding="utf-8")), file.stem, pictures
        )
        title = texts[name].partition("\n")[0].lstrip("# ")
        rows.append(f"{len(texts)}. [{title}]({file.stem}.md)")
    return {"lessons/index.md": "\n".join(rows) + "\n", **texts}, pictures


def _page(notebook: dict, stem: str, pictures: dict[str, bytes]) -> str:
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(f"```python\n{source}\n```")
            parts += [
                shown
                for output in cell["outputs"]
                for shown in _output(output, stem, pictures)
            ]
    return "\n\n".join(parts) + "\n"


def _output(output: dict, stem: str, pictures: dict[str, bytes]) -> list[str]:
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{stem}-{len(pictures)}.png"
        pictures[f"lessons/{name}"] = base64.b64decode("".join(data["image/png"]))
        return [f"![What the cell above draws]({name})"]
    text = "".join(output.get("text", data.get("text/plain", []))).rstrip()
    return [f"```text\n{text}\n```"] if text else []
