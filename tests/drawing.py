"""Draw figures in fewer formats, since each takes half a second."""

from contextlib import nullcontext

from matplotlib import pyplot as plt

from dfltheory.plots import look


def drawing(*suffixes):
    """Replace ``look.write_figure`` by a version for these formats; files of other
    formats are empty.
    """
    write = look.write_figure

    def touch_or_write(figure, path, **options):
        if path.suffix in suffixes:
            write(figure, path, **options)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            plt.close(figure)

    return touch_or_write


def draw_only(patch, *suffixes):
    """Write figures in these formats only. For none, not even the layout is computed;
    for one, matplotlib computes it while it draws.
    """
    patch.setattr(look, "write_figure", drawing(*suffixes))
    patch.setattr(look, "_layout_solved_once", nullcontext)
