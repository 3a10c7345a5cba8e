"""Generate docs/fidelity.md from the results of ``test_peers``.

python -m tests.fidelity.page docs/fidelity.md
"""

import json
import sys
from pathlib import Path

FOUND = Path(__file__).parent / "found.json"
_RELAYSGD = {
    "folder": "relaysgd",
    "code": "https://github.com/epfml/relaysgd",
    "commit": "e1e332bfaf6a2b29f1677b7fa31a27b6e0d2802a",
    "license": "MIT",
    "within": 1e-12,
}
_SIMULATION = _RELAYSGD | {
    "files": ("paper-figures/algorithms.py", "paper-figures/topologies.py"),
    "sha256": "f61884daa08e18482ed08e412bf11403d8fdbe0df2da4dd8e08fa7fabbecd527",
    "compared": "all models of 12 rounds, 5 quadratic clients on a tree, float64",
}
_FEDDYN = {
    "folder": "FedDyn",
    "code": "https://github.com/alpemreacar/FedDyn",
    "commit": "48a19fac440ef079ce563da8e0c2896f8256fef9",
    "license": "MIT",
    "files": (
        "utils_methods.py",
        "utils_general.py",
        "utils_models.py",
        "utils_dataset.py",
    ),
    "sha256": "ce4d924557ad01a957b9ba9e5d55f66fe4f1f855dc995095e69e09bdc26a0c8b",
    "compared": (
        "the server's model after 12 rounds, 3 full-batch steps each, softmax"
        " regression, float32"
    ),
    "within": 1e-5,
}
_DADPFL = {
    "folder": "da-dpfl",
    "code": "https://github.com/EricLoong/da-dpfl",
    "commit": "a7f93b8b9eb1adc75aa43328f39a9a83e3a854f5",
    "license": "MIT",
    "compared": (
        "all models of 12 rounds: local work is theirs, 3 steps on softmax regression,"
        " lr_decay 0.9; the average over the neighbors is the test's; float64"
    ),
    "within": 1e-9,
}
_PFLLIB = {
    "folder": "PFLlib",
    "code": "https://github.com/TsingZ0/PFLlib",
    "commit": "d832e76f6a23b833038949ec1e4fdefe63a4d350",
    "license": "Apache-2.0",
    "compared": (
        "the server's and all personal models of 12 rounds: loop, local work and"
        " average are theirs; network of two layers, ExponentialLR 0.9; every client"
        " has as many samples, by which theirs weights (serverbase.py:133); float64"
    ),
    "within": 1e-12,
}
_DECENT = {
    "folder": "decent-bench",
    "code": "https://github.com/team-decent/decent-bench",
    "commit": "ad39310621d8f7692adc393d2bd048eeb27de559",
    "license": "AGPL-3.0",
    "python": "3.13",
    "compared": (
        "all models of 12 rounds, 5 quadratic clients, on a tree or with a server,"
        " float64"
    ),
    "within": 1e-12,
}
_STEPS = (
    "agents",
    "networks",
    "algorithms/_algorithm",
    "algorithms/utils",
    "costs/_base/_quadratic_cost",
)
ROWS = [
    *(
        _SIMULATION
        | {
            "system": system,
            "what": what,
            "run": f"relaysgd:{what.partition(',')[0]}",
        }
        for system, what in (
            ("DPSGD, adapt then combine", "gossip"),
            ("DPSGD", "gossip, overlap"),
            ("DSGT", "gradient_tracking"),
            ("D2", "d2"),
            ("D2, lazy", "exact_diffusion"),
            ("QGDSGDm, eta and alpha divided by 1 + momentum", "quasi_global_momentum"),
        )
    ),
    _RELAYSGD
    | {
        "system": "RelaySGD",
        "what": "RelayMechanism",
        "run": "relay",
        "files": ("utils/communication.py", "topologies.py"),
        "sha256": "0cfc7763fc08356a9bf1e31c1c345af597bfbceda9a3444ca93c6eb6271eadf2",
        "compared": (
            "all models of 12 rounds, 5 quadratic clients on a tree, each in a process"
            " of its own, float64; their option normalization_mode = counts"
        ),
    },
    *(
        _FEDDYN
        | {
            "system": name,
            "what": f"train_{name}",
            "run": f"feddyn:train_{name}",
        }
        for name in ("FedAvg", "FedProx", "SCAFFOLD", "FedDyn")
    ),
    _DADPFL
    | {
        "system": "DFedSAM",
        "what": "DFedSAMMModelTrainer",
        "run": "dadpfl:dfedsam:DFedSAMMModelTrainer",
        "files": (
            "fedml_api/standalone/dfedsam/dfedsam_model_trainer.py",
            "fedml_api/standalone/dfedsam/sam.py",
        ),
        "sha256": "65ec7d1537ae7c130bf7d085b1884006ded06f2a86c25d07aa8492ffa99cf0a2",
    },
    _DADPFL
    | {
        "system": "DFedAvgM",
        "what": "DFedAvgMModelTrainer",
        "run": "dadpfl:dfedavgm:DFedAvgMModelTrainer",
        "files": ("fedml_api/standalone/dfedavgm/dfedavgm_model_trainer.py",),
        "sha256": "632322b05e9bf0b9b6129bbd65c3bf3820ba859d840cb332c45f813f0bf33254",
    },
    {
        "folder": "DFedPGP",
        "code": "https://github.com/YingqiLiu1999/DFedPGP",
        "commit": "fe5e15e05ce875a59f06add3bb2c4c29b2336c2b",
        "license": "none given",
        "system": "DFedMDC",
        "what": "MyModelTrainer",
        "run": "dfedpgp",
        "files": ("fedml_api/standalone/dfedpgp/my_model_trainer.py",),
        "sha256": "33d88b349002afaa1bd5b1f5604d8f8bd4dca35e61c9ffd145a52b81db1aa1cb",
        "compared": (
            "all models of 12 rounds: local work is theirs, one step on the head and"
            " two on the body of a network of two layers, lr_decay 0.9; the average of"
            " the bodies is the test's; float64"
        ),
        "within": 1e-9,
    },
    {
        "folder": "DisPFL",
        "code": "https://github.com/rong-dai/DisPFL",
        "commit": "e2f47d4a78c276f5f90396b25d8b9ed6141a9262",
        "license": "MIT",
        "system": "DisPFL",
        "what": "dispflAPI",
        "run": "dispfl",
        "files": (
            "fedml_api/standalone/DisPFL/client.py",
            "fedml_api/standalone/DisPFL/dispfl_api.py",
            "fedml_api/standalone/DisPFL/my_model_trainer.py",
            "fedml_api/standalone/DisPFL/slim_util.py",
            "fedml_core/trainer/model_trainer.py",
        ),
        "sha256": "d8b45b13ee85f6e2731ff63fa5124b0b360f1708e75e1b17fefb9392ec64f625",
        "compared": (
            "all models and all masks, entry by entry, of 12 rounds on a ring: loop,"
            " local work, clipping, search and average are theirs; network of two"
            " layers, half of it dead by ERK, lr_decay 0.9; float64"
        ),
        "within": 1e-6,
        "differs": (
            "The first mask is drawn here and given to theirs (`init_masks`,"
            " my_model_trainer.py:28), after a check that theirs has as many living"
            " weights in every layer. What clips (my_model_trainer.py:165, PyTorch's)"
            " divides by the norm + 1e-6; here by the norm."
        ),
    },
    _PFLLIB
    | {
        "system": "Ditto",
        "what": "Ditto",
        "run": "pfllib:serverditto:Ditto",
        "files": (
            "system/flcore/clients/clientbase.py",
            "system/flcore/servers/serverbase.py",
            "system/flcore/optimizers/fedoptimizer.py",
            "system/flcore/trainmodel/models.py",
            "system/flcore/clients/clientditto.py",
            "system/flcore/servers/serverditto.py",
        ),
        "sha256": "b8c2e27c66b19d8e11f1cdbd43b4a91ecb8b76eb06dd90399cb4b193eb75f9be",
    },
    _PFLLIB
    | {
        "system": "FedRoD",
        "what": "FedROD",
        "run": "pfllib:serverrod:FedROD",
        "files": (
            "system/flcore/clients/clientbase.py",
            "system/flcore/servers/serverbase.py",
            "system/flcore/optimizers/fedoptimizer.py",
            "system/flcore/trainmodel/models.py",
            "system/flcore/clients/clientrod.py",
            "system/flcore/servers/serverrod.py",
        ),
        "sha256": "928529f09b1506163335346305e708af779e0acc5c1ed0d2c680353613ef7945",
        "differs": (
            "Their personal head begins as a copy of the generic one, to whose outputs"
            " its own are added (clientrod.py:15), so that a personal model begins with"
            " twice the head; here it begins at 0. Both are started from a generic head"
            " of 0, where the two agree."
        ),
    },
    _PFLLIB
    | {
        "system": "FedRep",
        "what": "FedRep",
        "run": "pfllib:serverrep:FedRep",
        "files": (
            "system/flcore/clients/clientbase.py",
            "system/flcore/servers/serverbase.py",
            "system/flcore/optimizers/fedoptimizer.py",
            "system/flcore/trainmodel/models.py",
            "system/flcore/clients/clientrep.py",
            "system/flcore/servers/serverrep.py",
        ),
        "sha256": "78d99189e53b20f7fddb079159b260f0dc0e496f103d6a9da462e0076497c9e1",
    },
    _PFLLIB
    | {
        "system": "FedBABU",
        "what": "FedBABU",
        "run": "pfllib:serverbabu:FedBABU",
        "files": (
            "system/flcore/clients/clientbase.py",
            "system/flcore/servers/serverbase.py",
            "system/flcore/optimizers/fedoptimizer.py",
            "system/flcore/trainmodel/models.py",
            "system/flcore/clients/clientbabu.py",
            "system/flcore/servers/serverbabu.py",
        ),
        "sha256": "c31cf5e418645675d43ccc25933584164ad80288d3a88683525344c8f96eb9c6",
        "differs": (
            "Theirs fine-tunes, at the end, what every client trained in one more round"
            " and what no server averaged (serverbabu.py:61, which no send_models precedes);"
            " here the server's body of the last round. Their fine_tune is called on"
            " the latter."
        ),
    },
    {
        "folder": "FedProC",
        "code": "https://github.com/nclabteam/FedProC",
        "commit": "91f81c7ecba44edb7557ea1ab52f92bc037666c8",
        "license": "Apache-2.0",
        "system": "DFedSAM, Q = 2",
        "what": "DFedSAM",
        "run": "fedproc",
        "files": (
            "strategies/__init__.py",
            "strategies/base.py",
            "strategies/tFL.py",
            "strategies/pFL.py",
            "strategies/dFL.py",
            "strategies/DFedSAM.py",
            "utils/seed.py",
            "topologies/__init__.py",
            "topologies/base.py",
            "topologies/Ring.py",
            "topologies/FullyConnected.py",
            "topologies/KConnected.py",
            "topologies/MekongGeoKNN.py",
        ),
        "sha256": "fd2084f80742047d2cd4b6d892f76d09270f7943e5f6209c6c317b09ccd850c2",
        "compared": (
            "all models of 12 rounds on their ring: an epoch of 3 SAM steps on softmax"
            " regression and 2 gossip steps are theirs; float64"
        ),
        "within": 1e-6,
        "differs": (
            "The gradient's norm is taken in float32 in theirs, whatever the model's"
            " type, and has 1e-12 added (DFedSAM.py:59 and :64). Their weights are"
            " 1/(degree + 1) for every neighbor (dFL.py:60), which is doubly stochastic"
            " only where all degrees are equal, as on the ring."
        ),
    },
    *(
        _DECENT
        | {
            "system": system,
            "what": what,
            "run": f"decent:{what}",
            "files": tuple(
                f"decent_bench/{name}.py" for name in (*_STEPS, f"algorithms/{where}")
            ),
            "sha256": pinned,
        }
        for system, what, where, pinned in (
            (
                "DPSGD",
                "DGD",
                "p2p/_dgd",
                "f156f86edf3f9b756f165bd88144d1efd0ce2166e882c4d6d8cab75af96ce879",
            ),
            (
                "EXTRA",
                "EXTRA",
                "p2p/_extra",
                "eade9a49802dfe5dd34a0cc74cbf76261828d0a26842be3f227206ca805777a5",
            ),
            (
                "D2, lazy",
                "ED",
                "p2p/_ed",
                "626a2e763a39763dcee0e53e195af3c964e8e1ee29a8a7c91574fba5d44dec13",
            ),
            (
                "KGT",
                "KGT",
                "p2p/_kgt",
                "412148d973a1bae283a64c13bb9240e46b478236a2e3d81cb3727402ac8f2286",
            ),
            (
                "LTADMM",
                "LT_ADMM",
                "p2p/_lt_admm",
                "dab833de4ab53f814af6ce7b883fdbd319c4eb3f5550d21e833238160519e3d9",
            ),
            (
                "FedPD",
                "FedPD",
                "federated/_fed_pd",
                "394ba51b4828f3901fe2ef4545dadf354552bc7f5a3b65625bfe4971aa842cbd",
            ),
        )
    ),
]
"""What is executed: our algorithm, their function and files (with the SHA-256 of all
files), the tolerance, and intended differences, if any.
"""


def page() -> str:
    """Return the text that the page should have."""
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    rows = [
        f"| {row['system']} | `{row['what']}` of"
        f" [{row['code'].split('github.com/')[1]}]({row['code']}),"
        f" `{row['commit'][:10]}`, {row['license']} | {row['compared']} |"
        f" {found[row['what']]:.1e} |"
        for row in ROWS
        if row["what"] in found
    ]
    differ = [
        f"- {row['system']} ({row['folder']}): {row['differs']}"
        for row in ROWS
        if "differs" in row
    ]
    return "\n".join(
        [
            "# Fidelity",
            "",
            (
                "Generated by `make generated` from what `tests/fidelity` found; do not"
                " edit."
            ),
            "",
            (
                "Public code, executed as it is in a process of its own, next to the"
                " algorithm here: same data,"
            ),
            (
                "same start, same network. The largest difference is that of any entry"
                " of any model that is"
            ),
            (
                "compared. The files that run are pinned by a SHA-256; nothing of them"
                " is kept here."
            ),
            "",
            "| here | whose code | what is compared | largest difference |",
            "|---|---|---|---|",
            *rows,
            "",
            "Intended differences:",
            "",
            *differ,
            "",
            (
                "`DFLTHEORY_PEERS=FOLDER pytest tests/fidelity` executes them again,"
                " with clones in that folder;"
            ),
            (
                "decent-bench with `DFLTHEORY_PEERS_PYTHON=COMMAND`, a Python 3.13 that"
                " has its packages."
            ),
            "",
            (
                "Every algorithm has a literal twin of its own besides, in"
                " `tests/reference.py`."
            ),
            "",
        ]
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
