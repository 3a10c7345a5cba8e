"""A published implementation on our data, in a separate process.

python peer.py NAME FOLDER IN.npz OUT.npz

No code of the implementation is stored here. Modules that only draw or download are
replaced by empty ones.
"""

import contextlib
import os
import random
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import torch


def hollow(name):
    """Create a module of this name whose functions do nothing."""

    def nothing(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return lambda *args, **options: 0

    module = types.ModuleType(name)
    module.__getattr__ = nothing
    module.__all__, module.__spec__ = [], ModuleSpec(name, None)
    sys.modules[name] = module
    return module


def relaysgd(folder, given, what):
    """Simulate paper-figures/algorithms.py on the quadratics (x - b)'A(x - b)/2; return
    all models.
    """
    hollow("seaborn")
    sys.path.insert(0, str(folder / "paper-figures"))
    torch.set_default_dtype(torch.float64)
    import algorithms
    from topologies import Topology

    A, b, x0, near = (torch.from_numpy(given[key]) for key in ("A", "b", "x0", "near"))

    class GivenTopology(Topology):
        def neighbors(self, worker):
            return near[worker].nonzero()[:, 0].tolist()

    class Task:
        def init_state(self):
            return x0[..., None].clone()

        def grad(self, state):
            return A @ (state - b[..., None])

    options = {
        key: given[key].item() for key in ("overlap", "momentum") if key in given
    }
    rounds = getattr(algorithms, what)(
        Task(),
        GivenTopology(len(b)),
        float(given["eta"]),
        int(given["rounds"]),
        **options,
    )
    return np.stack([iterate.state.clone().numpy()[..., 0] for iterate in rounds])


def relay(folder, given, _):
    """Run the relay mechanism of utils/communication.py in one process per client."""
    import torch.multiprocessing as processes

    out = Path.cwd()
    processes.spawn(
        _worker, (str(folder), dict(given), str(out)), nprocs=len(given["b"])
    )
    return np.stack([np.load(out / f"{i}.npy") for i in range(len(given["b"]))], axis=1)


def _worker(rank, folder, given, out):
    sys.path.insert(0, folder)
    from topologies import Topology
    from utils.communication import RelayMechanism

    m = len(given["b"])
    torch.distributed.init_process_group(
        "gloo", f"file://{out}/meeting", rank=rank, world_size=m
    )

    class GivenTopology(Topology):
        def neighbors(self, worker):
            return np.nonzero(given["near"][worker])[0].tolist()

    mechanism = RelayMechanism(GivenTopology(m), normalization_mode="counts")
    A, b, x = (torch.from_numpy(given[key][rank]).clone() for key in ("A", "b", "x0"))
    path = [x.numpy().copy()]
    for _ in range(int(given["rounds"])):
        mechanism.send(x - float(given["eta"]) * (A @ (x - b)))
        x = mechanism.receive_average().clone()
        path.append(x.numpy().copy())
    np.save(Path(out) / f"{rank}.npy", np.stack(path))
    torch.distributed.barrier()


def feddyn(folder, given, what):
    """Run a method of utils_methods.py on softmax regression with full batches; return
    the server's last model.
    """
    for name in (
        "LEAF",
        "LEAF.utils_eval",
        "LEAF.utils_eval.language_utils",
        "LEAF.utils_eval.model_utils",
    ):
        hollow(name)
    for name in ("torchvision", "torchvision.transforms", "torchvision.models"):
        hollow(name)
    sys.path.insert(0, str(folder))
    import utils_methods as theirs

    X, y, x0 = given["X"].astype("float32"), given["y"][..., None], given["x0"]
    data = types.SimpleNamespace(
        n_client=len(X),
        clnt_x=X,
        clnt_y=y,
        tst_x=X[0],
        tst_y=y[0],
        dataset="synt",
        name="own",
    )
    (Path.cwd() / "Output" / "own").mkdir(parents=True)
    shape, rounds = (X.shape[-1], int(y.max()) + 1), int(given["rounds"])
    first = theirs.set_client_from_params(theirs.client_model("Linear", shape), x0)
    K, save = int(given["K"]), rounds
    steps = {"n_minibatch": K} if what == "train_SCAFFOLD" else {"epoch": K}
    more = {key: given[key].item() for key in ("alpha_coef", "mu") if key in given}
    ends = getattr(theirs, what)(
        data_obj=data,
        act_prob=1,
        learning_rate=float(given["eta"]),
        batch_size=X.shape[1],
        com_amount=rounds,
        print_per=10**9,
        weight_decay=0,
        lr_decay_per_round=1,
        save_period=save,
        model_func=lambda: theirs.client_model("Linear", shape),
        init_model=first,
        **steps,
        **more,
    )
    return theirs.get_mdl_params([ends[-1 if what == "train_FedDyn" else 0][-1]])[0]


def dadpfl(folder, given, what):
    """Run a client's trainer of fedml_api/standalone in float64, with our average over
    the neighbors; return all models.
    """
    import importlib
    import logging

    hollow("fedml_api.utils.main_flops_counter")
    sys.path.insert(0, str(folder))
    system, _, trainer = what.partition(":")
    theirs = getattr(
        importlib.import_module(
            f"fedml_api.standalone.{system}.{system}_model_trainer"
        ),
        trainer,
    )
    names = ("lr", "lr_decay", "momentum", "rho", "wd", "epochs")
    args = types.SimpleNamespace(
        **{n: given[n].item() for n in names}, client_optimizer="sgd"
    )
    X, y, W = (torch.from_numpy(given[key]) for key in ("X", "y", "W"))
    x, path = torch.from_numpy(given["x0"]).repeat(len(X), 1), []
    module = torch.nn.Linear(X.shape[-1], int(y.max()) + 1).double()
    client = theirs(module, args, logging.getLogger("theirs"))
    client.id = 0
    for t in range(int(given["rounds"])):
        for i in range(len(X)):
            torch.nn.utils.vector_to_parameters(x[i].clone(), module.parameters())
            client.train([(X[i], y[i])], torch.device("cpu"), args, t)
            x[i] = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
        x = W @ x
        path.append(x.numpy().copy())
    return np.stack(path)


def dfedpgp(folder, given, _):
    """Run the clients' trainer on a body and a head, with our average of the bodies;
    return all models.
    """
    import importlib
    import logging

    for name in (
        "fedml_api.model.cv.cnn_meta",
        "thop",
        "fedml_api.utils.main_flops_counter",
    ):
        hollow(name)
    sys.path.insert(0, str(folder))
    theirs = importlib.import_module(
        "fedml_api.standalone.dfedpgp.my_model_trainer"
    ).MyModelTrainer
    names = (
        "lr_head",
        "lr_body",
        "lr_decay",
        "momentum",
        "wd",
        "head_epochs",
        "body_epochs",
    )
    args = types.SimpleNamespace(**{n: given[n].item() for n in names}, dataset="own")
    X, y, W = (torch.from_numpy(given[key]) for key in ("X", "y", "W"))
    x, path = torch.from_numpy(given["x0"]).repeat(len(X), 1), []
    parts = {
        "body": torch.nn.Linear(X.shape[-1], 3),
        "bend": torch.nn.Tanh(),
        "linear": torch.nn.Linear(3, 4),
    }
    module = torch.nn.Sequential()
    for name, part in parts.items():
        module.add_module(name, part.double())
    body = sum(p.numel() for p in module.body.parameters())
    client = theirs(module, args, logging.getLogger("theirs"))
    client.id = 0
    for t in range(int(given["rounds"])):
        for i in range(len(X)):
            torch.nn.utils.vector_to_parameters(x[i].clone(), module.parameters())
            data = [(X[i], y[i])]
            client.train(data, data, torch.device("cpu"), args, t)
            x[i] = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
        x[:, :body] = W @ x[:, :body]
        path.append(x.numpy().copy())
    return np.stack(path)


def dispfl(folder, given, _):
    """Run all of dispfl_api from a given first mask; return the models at the start of
    each round, then all masks.
    """
    import logging

    for name in ("fedml_api.utils.main_flops_counter", "fedml_api.model.cv.cnn_meta"):
        hollow(name)
    sys.path.insert(0, str(folder))
    from fedml_api.standalone.DisPFL import dispfl_api, my_model_trainer

    names = (
        "comm_round",
        "dense_ratio",
        "anneal_factor",
        "lr",
        "lr_decay",
        "wd",
        "epochs",
    )
    X, y, x0, mask = (torch.from_numpy(given[key]) for key in ("X", "y", "x0", "mask"))
    (m, n, _), log, seen = X.shape, logging.getLogger("theirs"), []
    args = types.SimpleNamespace(
        **{n: given[n].item() for n in names},
        client_num_in_total=m,
        client_num_per_round=2,
        cs="ring",
        active=1.0,
        erk_power_scale=1,
        uniform=False,
        different_initial=False,
        static=False,
        save_masks=True,
        dis_gradient_check=False,
        momentum=0,
        client_optimizer="sgd",
        batch_size=n,
        dataset="own",
        ci=0,
    )

    class Watched(dispfl_api.Client):
        def train(self, w, masks, round):
            seen.append((w, masks))
            return super().train(w, masks, round)

    class Given(my_model_trainer.MyModelTrainer):
        def init_masks(self, params, sparsities):
            drawn, own = (
                super().init_masks(params, sparsities),
                iter(mask.split([p.numel() for p in params.values()])),
            )
            first = {
                name: next(own).reshape(p.shape).to(p.dtype)
                for name, p in params.items()
            }
            assert all(first[name].sum() == drawn[name].sum() for name in params), (
                "other densities"
            )
            return first

    dispfl_api.Client = Watched
    module = torch.nn.Sequential(
        torch.nn.Linear(X.shape[-1], 6), torch.nn.Tanh(), torch.nn.Linear(6, 4)
    ).double()
    torch.nn.utils.vector_to_parameters(x0, module.parameters())
    data = {i: [(X[i], y[i])] for i in range(m)}
    dataset = (n * m, n * m, None, None, dict.fromkeys(data, n), data, data, None)
    api = dispfl_api.dispflAPI(
        dataset, torch.device("cpu"), args, Given(module, args, log), log
    )
    api.train()
    w, masks = zip(*seen)
    flat = [
        torch.cat([p.flatten().double() for p in one.values()]).detach()
        for one in (*w, *masks, *api.stat_info["final_masks"])
    ]
    return torch.stack(flat).unflatten(0, (-1, m)).numpy()


def pfllib(folder, given, what):
    """Run a server of flcore and its clients in its own loop; return the server's and
    the personal models.
    """
    import importlib

    for name in ("h5py", "sklearn", "sklearn.preprocessing", "utils.dlg"):
        hollow(name)
    X, y = (torch.from_numpy(given[key]) for key in ("X", "y"))
    hollow("utils.data_utils").read_client_data = lambda dataset, i, **options: list(
        zip(X[i], y[i])
    )
    sys.path.insert(0, str(folder / "system"))
    from flcore.trainmodel.models import BaseHeadSplit

    base = torch.nn.Sequential(torch.nn.Linear(X.shape[-1], 3), torch.nn.Tanh())
    model = BaseHeadSplit(base, torch.nn.Linear(3, 4)).double()
    torch.nn.utils.vector_to_parameters(
        torch.from_numpy(given["x0"]), model.parameters()
    )
    names = ("local_epochs", "plocal_epochs", "fine_tuning_epochs", "mu")
    names = (*names, "local_learning_rate", "learning_rate_decay_gamma")
    rounds = int(given["rounds"])
    args = types.SimpleNamespace(
        **{n: given[n].item() for n in names},
        model=model,
        device="cpu",
        num_clients=len(X),
        num_classes=4,
        batch_size=X.shape[1],
        global_rounds=rounds,
        learning_rate_decay=True,
        join_ratio=1.0,
        random_join_ratio=False,
        client_drop_rate=0.0,
        train_slow_rate=0.0,
        send_slow_rate=0.0,
        time_select=False,
        time_threthold=1e9,
        few_shot=0,
        eval_gap=1,
        dlg_eval=False,
        dlg_gap=1,
        top_cnt=1,
        batch_num_per_client=0,
        auto_break=False,
        num_new_clients=0,
        fine_tuning_epoch_new=0,
        **dict.fromkeys(("dataset", "algorithm", "goal", "save_folder_name"), "own"),
    )
    place, _, kind = what.partition(":")
    server = getattr(importlib.import_module(f"flcore.servers.{place}"), kind)(args, 0)
    vector, path = torch.nn.utils.parameters_to_vector, []

    def personal(client):
        if hasattr(client, "model_per"):
            return vector(client.model_per.parameters())
        x = vector(client.model.parameters())
        if hasattr(client, "head"):  # its outputs are added to the generic head's
            own = vector(client.head.parameters())
            x[-len(own) :] += own
        return x

    # replaces their evaluation, which follows the sending of the server's model
    def keep():
        if len(path) == rounds and hasattr(server.clients[0], "fine_tune"):
            for client in server.clients:
                client.fine_tune()
        both = [[vector(c.model.parameters()), personal(c)] for c in server.clients]
        path.append(
            np.stack(
                [[one.detach().numpy().copy() for one in pair] for pair in both], axis=1
            )
        )
        if len(path) > rounds:
            raise StopIteration

    server.evaluate, server.evaluate_personalized = keep, lambda: None
    with contextlib.suppress(StopIteration):
        server.train()
    return np.stack(path)


def fedproc(folder, given, _):
    """Run K minibatches on each client, then the server's gossip steps on a ring;
    return all models.
    """
    for name in ("polars", "ray"):
        hollow(name)
    sys.path.insert(0, str(folder))
    from strategies.DFedSAM import DFedSAM, DFedSAM_Client
    from topologies import Ring

    class Marked(torch.nn.Linear):
        def forward(self, x, x_mark, y_mark):
            # they convert their input to float32
            return super().forward(x.double())

    X, y, x = (torch.from_numpy(given[key]) for key in ("X", "y", "x0"))
    m, path, idle = len(X), [], types.SimpleNamespace(step=lambda: None)
    module = Marked(X.shape[-1], int(y.max()) + 1).double()
    optimizer = torch.optim.SGD(module.parameters(), lr=float(given["lr"]))
    server, client = object.__new__(DFedSAM), object.__new__(DFedSAM_Client)
    vars(server).update(
        num_clients=m,
        topology=Ring(m).neighbors,
        use_mgs=True,
        mgs_steps=int(given["Q"]),
    )
    held = server.clients_personal_model_params = {i: {} for i in range(m)}
    client.rho, x = float(given["rho"]), x.repeat(m, 1)

    def cost(out, labels):
        return torch.nn.functional.cross_entropy(out, labels.long())

    for _ in range(int(given["rounds"])):
        sent = {}
        for i in range(m):
            torch.nn.utils.vector_to_parameters(x[i].clone(), module.parameters())
            data = [(X[i], y[i], X[i], X[i])] * int(given["K"])
            client.train_one_epoch(module, data, optimizer, cost, idle, "cpu")
            sent[i] = {
                "regular_model_params": {
                    n: p.clone() for n, p in module.state_dict().items()
                }
            }
        server.aggregate_client_updates(sent)
        x = torch.stack(
            [torch.cat([p.flatten() for p in held[i].values()]) for i in range(m)]
        )
        path.append(x.numpy().copy())
    return np.stack(path)


SYSTEMS = {
    found.__name__: found
    for found in (relaysgd, relay, feddyn, dadpfl, dfedpgp, dispfl, pfllib, fedproc)
}

if __name__ == "__main__":
    name, folder, source, target = sys.argv[1:]
    system, _, what = name.partition(":")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    random.seed(0), np.random.seed(0), torch.manual_seed(0)  # noqa: NPY002 - theirs draw so
    with np.load(source) as given:
        found = SYSTEMS[system](Path(folder).resolve(), dict(given), what)
    np.savez(target, found=found)
