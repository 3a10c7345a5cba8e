"""``dfltheory topology``: documents, exit statuses and one-line errors."""

import json

import networkx as nx
import numpy as np
import pytest

from dfltheory import graphs
from dfltheory.cli import run


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        status = run(["topology", *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def document(cli, *arguments):
    status, out, err = cli(*arguments, "--json")
    assert err == ""
    return status, json.loads(out)


def test_constants_of_a_ring(cli):
    status, d = document(cli, "ring", "--m", 16, "--weights", "metropolis", "--Q", 4)
    W = graphs.metropolis(graphs.ring(16))
    assert status == 0
    assert d["lam"] == pytest.approx(graphs.lam(W))
    assert d["gap"] == pytest.approx(graphs.spectral_gap(W))
    assert d["phi"] == pytest.approx(graphs.phi(d["lam"], m=16, Q=4))
    assert d["mixing_time"] == graphs.mixing_rounds(graphs.spectral_gap(W))
    assert "table1" not in d
    assert d["check"]["ok"]
    assert d["links"] == 16


def test_topology_prints_a_table_without_json_and_under_its_long_name(cli):
    status, out, _ = cli("ring", "--m", 16)
    assert status == 0
    assert "0.949253" in out
    assert "all hold" in out
    assert cli("show", "ring", "--m", 16)[1] == out
    assert cli("--m", 16, "ring")[1] == out


def test_directed_graphs_get_push_sum_constants(cli):
    status, d = document(
        cli,
        "random-out-degree",
        "--m",
        20,
        "--option",
        "degree=3",
        "--option",
        "seed=2",
    )
    P = graphs.column_stochastic(graphs.random_out_degree(20, 3, seed=2))
    expected = graphs.push_sum_constants(P)
    assert status == 0
    assert d["push_sum"]["delta"] == pytest.approx(expected.delta)
    assert d["push_sum"]["q"] == pytest.approx(expected.q)
    assert d["cited"]["C"] == pytest.approx(graphs.cited_constants(P).C)
    assert "lam" not in d
    out = cli(
        "random-out-degree", "--m", 20, "--option", "degree=3", "--option", "seed=2"
    )[1]
    assert "push-sum, computed" in out


def test_a_million_clients(cli):
    status, d = document(cli, "torus", "--m", 10**6)
    assert status == 0
    assert d["gap"] == pytest.approx(graphs.spectral_gap("torus", m=10**6))
    assert d["check"] is None
    assert "no matrix was built" in cli("torus", "--m", 10**6)[1]


def test_weights_that_break_the_definition_exit_1(cli):
    status, d = document(cli, "star", "--m", 5, "--weights", "uniform")
    assert status == 1
    assert [f["law"] for f in d["check"]["failures"]] == ["symmetry", "column sums"]
    assert "dfedsam.theorem_4_5" in d["check"]["takes_away"]
    status, out, _ = cli("star", "--m", 5, "--weights", "uniform")
    assert status == 1
    assert "2 of 11 laws broken" in out
    printed = [line.strip() for line in out.splitlines()]
    for failure in d["check"]["failures"]:
        assert f"{failure['law']}: {failure['message']}" in printed


def test_plot(cli, tmp_path):
    status, d = document(
        cli, "grid", "--m", 12, "--option", "sides=2x6", "--plot", tmp_path / "grid.svg"
    )
    assert status == 0
    assert d["plot"].endswith("grid.svg")
    assert "<svg" in (tmp_path / "grid.svg").read_text()
    status, _, err = cli("grid", "--plot", tmp_path / "grid.doc")
    assert status == 2
    assert ".png, .pdf or .svg" in err


def test_a_torus_of_a_prime_number_says_that_it_is_a_ring(cli):
    assert document(cli, "torus", "--m", 17)[1]["sides"] == [1, 17]
    assert (
        "sides                 1 x 17: a side of 1 makes it the ring of 17\n"
        in cli("torus", "--m", 17)[1]
    )
    assert "sides                 4 x 4\n" in cli("torus", "--m", 16)[1]
    assert "sides                 250 x 400\n" in cli("torus", "--m", 10**5)[1]


def test_topology_lists_its_names(cli):
    _, d = document(cli, "ring", "--list")
    assert d["topologies"] == sorted(graphs.TOPOLOGIES)
    assert "fastest_mixing" in d["weights"]


@pytest.mark.drawn(6)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rign",), "did you mean ring"),
        (("one-peer-exponential",), "a sequence, with a network for each round"),
        (("ring", "--m", 0), "m = 0 must be an integer >= 1"),
        (("ring", "--weights", "metro"), "did you mean metropolis"),
        (("ring", "--Q", 0), "Q = 0"),
        (
            ("ring", "--option", "m=4"),
            "topology ring does not take m: it takes no options",
        ),
        (("grid", "--option", "sides=ab", "--m", 10), "two integers"),
        (("directed-ring", "--weights", "metropolis"), "links in both directions"),
        (("ring", "--wieghts", "x"), "--wieghts"),
        (("compare", "--m", 16), "NAMES|names"),
        (("compare", "16", "64"), "names"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(cli, arguments, message):
    status, out, err = cli(*arguments)
    assert status == 2
    assert out == ""
    assert any(part in err for part in message.split("|"))
    assert err.count("\n") == 1


# -- check


def test_topology_names_the_check_command_for_a_file_in_place_of_a_name(cli, tmp_path):
    np.save(file := tmp_path / "W.npy", np.eye(2))
    status, out, err = cli(file)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"`dfltheory topology check {file}`" in err
    assert "no topology is called" in cli(tmp_path / "absent.npy")[2]


def test_check_a_good_file(cli, tmp_path):
    np.save(tmp_path / "W.npy", graphs.metropolis(graphs.grid(9)))
    status, out, _ = cli("check", tmp_path / "W.npy")
    assert status == 0
    assert out.startswith("mixing matrix (m = 9): ok")


def test_check_names_the_broken_law_and_exits_1(cli, tmp_path):
    (tmp_path / "W.csv").write_text("0.5,0.5\n0.5,0.6667\n")
    status, d = document(cli, "check", tmp_path / "W.csv")
    assert status == 1
    assert not d["ok"]
    assert (
        d["failures"][0]["message"] == "row 1 sums to 1.1667, not 1 (tolerance 1e-10)"
    )
    assert document(cli, "check", tmp_path / "W.csv", "--tol", 0.2)[0] == 0


def test_check_push_sum_and_graphs(cli, tmp_path):
    P = graphs.column_stochastic(graphs.directed_exponential(6))
    np.savetxt(tmp_path / "P.txt", P, fmt="%.17g")
    assert cli("check", tmp_path / "P.txt")[0] == 1  # not symmetric
    status, d = document(cli, "check", tmp_path / "P.txt", "--push-sum")
    assert (status, d["window"]) == (0, 1)
    nx.write_edgelist(graphs.ring(6), tmp_path / "ring.edgelist", data=False)
    assert cli("check", tmp_path / "ring.edgelist")[0] == 0
    np.save(tmp_path / "W.npy", graphs.metropolis(graphs.complete(6)))
    status, d = document(
        cli, "check", tmp_path / "W.npy", "--graph", tmp_path / "ring.edgelist"
    )
    assert status == 1
    assert [f["law"] for f in d["failures"]] == ["graph"]
    (tmp_path / "arcs.el").write_text("0 1\n1 2\n2 0\n")
    assert cli("check", tmp_path / "arcs.el", "--directed", "--push-sum")[0] == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("nan.csv", "0.5,nan\n0.5,0.5\n", "entry (0, 1) is nan"),
        ("cut.edgelist", "0 1\n2 3\n", "disconnected"),
        ("bad.npy", "x", "bad.npy: not an npy array"),
        (
            "weighted.txt",
            "0 1 0.5\n1 2 0.5\n",
            "look like an edge list, not a matrix: name the file weighted.",
        ),
    ],
)
def test_what_cannot_be_checked_exits_2_with_one_line(
    cli, tmp_path, name, content, message
):
    (tmp_path / name).write_text(content)
    status, out, err = cli("check", tmp_path / name)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert "pickle" not in err
    assert cli("check", tmp_path / "missing.npy")[0] == 2


# -- compare


def test_compare(cli):
    status, d = document(
        cli, "compare", "ring", "torus", "exponential", "--m", 16, 64, 256, 1024
    )
    assert status == 0
    assert d["m"] == [16, 64, 256, 1024]
    rows = {row["topology"]: row for row in d["rows"]}
    assert rows["ring"]["exponent"] == pytest.approx(2, abs=0.01)
    assert rows["torus"]["exponent"] == pytest.approx(1, abs=0.06)
    assert rows["exponential"]["exponent"] < 0.3
    assert rows["torus"]["gaps"]["64"] == pytest.approx(
        graphs.spectral_gap("torus", m=64)
    )
    out = cli("compare", "ring", "directed-ring", "--m", 16, 64)[1]
    assert "2.0" in out
    assert "directed-ring (column_stochastic)" in out


def test_topology_check_reports_the_numbering_of_clients_for_an_edge_list(
    cli, tmp_path
):
    (tmp_path / "gap.edgelist").write_text("0 1\n1 5\n5 0\n")
    status, out, _ = cli("check", tmp_path / "gap.edgelist")
    assert status == 0
    assert (
        out.splitlines()[-1]
        == "  clients 0 to 2 are 0, 1, 5 in the file; a name without a line is not a"
        " client"
    )
    assert document(cli, "check", tmp_path / "gap.edgelist")[1]["clients"] == [
        "0",
        "1",
        "5",
    ]
    (tmp_path / "long.el").write_text("".join(f"{k} {k + 1}\n" for k in range(1, 20)))
    assert (
        "clients 0 to 19 are 1, 2, 3, 4, ..., 20 in the file"
        in cli("check", tmp_path / "long.el")[1]
    )
    (tmp_path / "eight.el").write_text("".join(f"{k} {k + 1}\n" for k in range(1, 8)))
    assert (
        "clients 0 to 7 are 1, 2, 3, 4, 5, 6, 7, 8 in the file"
        in cli("check", tmp_path / "eight.el")[1]
    )
    (tmp_path / "plain.el").write_text("0 1\n1 2\n")
    assert "clients" not in cli("check", tmp_path / "plain.el")[1]
    assert "clients" not in document(cli, "check", tmp_path / "plain.el")[1]


def test_topologies_are_compared_at_one_size_too(cli):
    status, d = document(cli, "compare", "ring", "torus", "--m", 16)
    assert status == 0
    rows = d["rows"]
    assert [row["topology"] for row in rows] == ["ring", "torus"]
    assert all(row["exponent"] is None and row["gaps"]["16"] > 0 for row in rows)
    status, out, _ = cli("compare", "ring", "torus", "--m", 16)
    assert status == 0
    assert "misfit" not in out
    assert "Spectral gap 1 - lambda, metropolis weights\n" in out
