"""``dfltheory data``: download and verify image sets, and show their partitions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from dfltheory.cli.guard import Command
from dfltheory.cli.output import AsJson, console, emit, exit_unless

if TYPE_CHECKING:
    from dfltheory.tasks.images import ImageSet
    from dfltheory.tasks.partition import Partition

app = typer.Typer(
    name="data", no_args_is_help=True, add_completion=False, rich_markup_mode="markdown"
)

Root = Annotated[
    str | None,
    typer.Option(
        "--data-root",
        help=(
            "Folder of the official files. Default: $DFLTHEORY_DATA_ROOT, else the"
            " platform's cache folder."
        ),
    ),
]


@app.callback()
def data() -> None:
    """Real image sets.

    Available are digits (bundled), mnist, fashion_mnist, cifar10, cifar100 and
    tiny_imagenet.

    Examples:

        dfltheory data fetch cifar10 --data-root images

        dfltheory data verify

        dfltheory data show digits --m 10 --partition dirichlet --alpha 0.3
    """


@app.command(cls=Command)
def fetch(
    name: Annotated[
        str,
        typer.Argument(
            help="mnist, fashion_mnist, cifar10, cifar100 or tiny_imagenet."
        ),
    ],
    data_root: Root = None,
    json: AsJson = False,
) -> None:
    """Download the official files of a set, and check their MD5 checksums.

    Valid files are kept. A failed download is repeated, and leaves no partial files.

    Example:

        dfltheory data fetch mnist --data-root images
    """
    from dfltheory.tasks import download

    folder = download.fetch(
        name,
        data_root,
        report=partial(typer.echo, err=True),
    )
    emit({"name": name, "folder": str(folder)}, f"{name} is ready in {folder}", json)


@app.command(cls=Command)
def verify(
    name: Annotated[
        str | None, typer.Argument(help="One set. Default: all sets with files.")
    ] = None,
    data_root: Root = None,
    json: AsJson = False,
) -> None:
    """Compare files with the official MD5 checksums.

    Exit status 1 if a file is missing or wrong.

    Without a name, sets without any files are listed as absent, which is a failure only
    if all sets are absent.

    Examples:

        dfltheory data verify cifar10

        dfltheory data verify --json
    """
    from dfltheory.tasks import files

    sets: dict[str, dict[str, object]] = {}
    failed, lines = False, []
    for set_name in [name] if name else sorted(files.SETS):
        states = files.verify(set_name, data_root)
        absent = all(state.state == "missing" for state in states)
        wrong = [state for state in states if state.state != "ok"]
        status = "wrong" if wrong else "ok"
        if absent:
            status = "absent"
        if status == "wrong" or (absent and name is not None):
            failed = True
        sets[set_name] = {
            "status": status,
            "files": [
                {"path": str(s.path), "state": s.state, "detail": s.detail}
                for s in states
            ],
        }
        lines.append(f"{set_name:<14} {status}")
        lines += [f"    {state.detail}" for state in wrong if not absent]
    root = files.data_root(data_root)
    if all(result["status"] == "absent" for result in sets.values()):
        failed = True
        lines.append(
            "nothing was compared: `dfltheory data fetch NAME` downloads a set to the"
            " folder of --data-root"
        )
    emit(
        {"data_root": str(root), "ok": not failed, "sets": sets},
        "\n".join([f"data root {root}", *lines]),
        json,
    )
    exit_unless(not failed)


@app.command("show", cls=Command)
def show_partition(
    name: Annotated[
        str, typer.Argument(help="digits, mnist, fashion_mnist, cifar10, ...")
    ],
    m: Annotated[int, typer.Option("--m", help="Number of clients.")] = 10,
    partition: Annotated[
        str,
        typer.Option(
            help="iid, dirichlet, dirichlet_by_image or shards (few labels each)."
        ),
    ] = "iid",
    alpha: Annotated[
        float, typer.Option(help="Dirichlet concentration; small is heterogeneous.")
    ] = 0.3,
    classes_per_client: Annotated[
        int, typer.Option(help="Labels of a client, for shards.")
    ] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the division.")] = 0,
    data_root: Root = None,
    json: AsJson = False,
) -> None:
    """Divide a set among clients, and print the labels of each client.

    Examples:

        dfltheory data show digits --m 10 --partition dirichlet --alpha 0.3

        dfltheory data show cifar10 --m 100 --partition shards --classes-per-client 2
        --json
    """
    from dfltheory.tasks import images
    from dfltheory.tasks.partition import partition_labels

    loaded = images.load_images(name, data_root)
    parts = partition_labels(
        loaded.train_y,
        m,
        partition,  # type: ignore[arg-type]  # split checks the name
        alpha=alpha,
        classes_per_client=classes_per_client,
        seed=seed,
        test_labels=loaded.test_y,
    )
    document: dict[str, object] = {"name": name, "partition": partition, "seed": seed}
    document |= {n: list(getattr(loaded, n)) for n in ("shape", "labels")}
    document |= {n: getattr(parts, n).tolist() for n in ("counts", "test_counts")}
    document["statistics"] = parts.statistics()
    emit(document, partial(_table, parts, loaded), json)


def _table(parts: Partition, loaded: ImageSet) -> None:
    """Print the number of images, and the labels, of each client."""
    from rich.table import Table

    shape = " x ".join(map(str, loaded.shape))
    images = f"{len(loaded.train_y)} training and {len(loaded.test_y)} test images"
    print(f"{loaded.name}: {images}, {shape}, {loaded.classes} labels")
    # a column for each label, or one with the number of labels of a client
    few = loaded.classes <= 10
    names = loaded.labels if few else ["labels"]
    table = Table("client", "training", "test", *names, box=None)
    for i, (row, test) in enumerate(zip(parts.counts, parts.test_counts, strict=True)):
        cells = row if few else [(row > 0).sum()]
        table.add_row(str(i), str(row.sum()), str(test.sum()), *(str(c) for c in cells))
    console(130).print(table)
    for key, value in parts.statistics().items():
        print(f"{key.replace('_', ' ')}: {value:.6g}")
