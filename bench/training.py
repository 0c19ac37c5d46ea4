#!/usr/bin/env python3
"""Forward passes and training steps of ours against PyTorch's, eager: the time of each, and whether the results are the same.

    resnet18   4 images of 3 x 224 x 224, 1000 classes, cross-entropy
    dense      the graph transformer: a graph of 500 nodes and 2500 edges, 4 layers, 64 wide, 4 heads, dense attention, encodings of 16
    sparse     the same with attention along the edges and message passing (gin)
    peptides   64 molecules, 11,612 atoms, as one batch: the graph transformer of --layers layers, dense attention within each molecule

    forward    the form for evaluation (PyTorch: in inference mode)
    backward   forward, loss and the gradients of all parameters
    step       that and Adam's update of all parameters

Each peer is a process of its own, on the same cores with as many threads; they take turns, and none runs while another does. In a turn
a peer runs once unmeasured, then a number of times, of which the median counts (what takes longer than a turn: once); a ratio is that
of two such medians of one round. Weights, inputs and dropout masks are the same to the byte, f32. PyTorch's attention is its fused one
(scaled_dot_product_attention), or with --plain written out. What comes out has to be the same: outputs, the loss, and the loss after
each of the first steps; exit status 1 where it is not.

    bench/training.py [--build build] [--folder .deps/bench] [--rounds 9] [--cores 0] [--case NAME...] [--plain] [--layers 6]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import peers

PHASES = ["forward", "backward", "step"]
ENGINES = ["onnxruntime", "openvino"]
N_CHECKED, TURN_NS = 3, 300e6
LEARNING_RATE = 1e-3


# ----- one peer, in a process of its own

def our_peer(library, case, engine, cores):
    """Of each phase: what runs it once and returns ns. The step's outputs go in again: two requests take turns, each writing what the
    other reads."""
    import engines
    import numpy
    device, threads = f"{engine}:CPU@{cores}", len(cores.split(","))
    options = engines.Training(optimiser=2, learning_rate=LEARNING_RATE, beta1=0.9, beta2=0.999, epsilon=1e-8)
    options.gradient.loss = case.loss
    output, loss = numpy.zeros(case.output_shape, numpy.float32), numpy.zeros((), numpy.float32)
    forward = engines.Compiled(library, case.evaluation, device, threads).request(case.inputs, {library.outputs(case.evaluation)[0].name.decode(): output})
    backward_model = library.made("ifm_gradient_backward", case.training, engines.ctypes.byref(options.gradient))
    batch = {**case.inputs, "target": case.target}
    backward = engines.Compiled(library, backward_model, device, threads).request(batch, {"loss": loss})
    step_model = library.made("ifm_gradient_training_step", case.training, engines.ctypes.byref(options))
    step = engines.Compiled(library, step_model, device, threads)
    states = library.states(case.training, options)
    sides = [{name: first.copy() for name, _, first in states} for _ in range(2)]
    turns = [step.request({**batch, **sides[i]}, {"loss": loss, **{to: sides[1 - i][name] for name, to, _ in states}}) for i in range(2)]
    count = [0]

    def run_step():
        count[0] += 1
        return turns[(count[0] - 1) % 2]()

    return {"forward": forward, "backward": backward, "step": run_step}, lambda: output, lambda: float(loss)


def torch_peer(case, cores, plain):
    import time
    import torch
    import torch_models
    torch.set_num_threads(len(cores.split(",")))
    settings = {**case.settings, "attention_form": "plain" if plain else "fused"}
    given = {name: torch.from_numpy(value.copy()) for name, value in {**case.weights, **case.inputs}.items()}
    target, model = torch.from_numpy(case.target), torch_models.MODELS[case.model]
    parameters = [given[name] for name in torch_models.parameters(case.model, given)]
    for parameter in parameters:
        parameter.requires_grad_()
    adam = torch.optim.Adam(parameters, lr=LEARNING_RATE)
    kept = {}

    def forward():
        with torch.inference_mode():
            kept["output"] = model(given, {**settings, "training": "0"})[0]

    def backward():
        adam.zero_grad()
        loss = torch_models.loss_of(case.model, model(given, {**settings, "training": "1"})[0], target)
        loss.backward()
        kept["loss"] = loss

    def step():
        backward()
        adam.step()

    def timed(work):
        def run():
            begin = time.perf_counter_ns()
            work()
            return time.perf_counter_ns() - begin
        return run

    return ({"forward": timed(forward), "backward": timed(backward), "step": timed(step)}, lambda: kept["output"].numpy(),
            lambda: kept["loss"].item())


def serve(options):
    """Answers on standard output to PHASE COUNT on standard input: the times, and what came out."""
    import training_cases
    import engines
    os.sched_setaffinity(0, [int(core) for core in options.cores.split(",")])
    library = engines.Library(options.build)
    case = training_cases.make(library, options.case[0], options.layers)
    who = options.serve
    runs, output, loss = torch_peer(case, options.cores, options.plain) if who == "torch" else our_peer(library, case, who, options.cores)
    print("ready", flush=True)
    for line in sys.stdin:
        phase, count = line.split()
        times = [runs[phase]() for _ in range(int(count))]
        found = output().ravel()[:1000].tolist() if phase == "forward" else loss()
        print(json.dumps({"ns": times, "found": found}), flush=True)


# ----- all of them

class Peer:
    def __init__(self, options, case, who):
        command = [sys.executable, __file__, "--serve", who, "--case", case, "--build", options.build, "--folder", options.folder, "--cores",
                   options.cores, "--layers", str(options.layers)] + (["--plain"] if options.plain else [])
        threads = str(len(options.cores.split(",")))
        environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        self.who = who
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{who}: did not start")

    def ask(self, phase, count):
        print(phase, count, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.who}: ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def check(case, all_peers):
    """The first runs of each. Returns what differs, as lines."""
    found = {}
    for peer in all_peers:
        values = peer.ask("forward", 1)["found"]
        losses = [peer.ask("backward", 1)["found"]] + [peer.ask("step", 1)["found"] for _ in range(N_CHECKED)]
        found[peer.who] = values, losses
    right, *others = found  # PyTorch's, where it is there
    right_values, right_losses = found[right]
    bad, scale = [], max(abs(value) for value in right_values)
    for who in others:
        values, losses = found[who]
        off = max(abs(a - b) for a, b in zip(values, right_values)) / scale
        off_loss = max(abs(a - b) / abs(b) for a, b in zip(losses, right_losses))
        print(f"{case}: {who}: outputs differ by {off:.1e} of {right}'s largest, the loss of the first {N_CHECKED + 1} by {off_loss:.1e} of itself")
        if not (off <= 1e-3 and off_loss <= 1e-3 and len(values) == len(right_values)):
            bad.append(f"{case}: {who}: the results differ")
    return bad


def median(values):
    return sorted(values)[len(values) // 2]


def words(ratios):
    lower, upper = peers.median_interval(ratios)
    return f"{median(ratios):.2f}, 95 % interval {lower:.2f} to {upper:.2f}"


def race(case, all_peers, rounds):
    """Turn about. Prints the ratios."""
    counts = {(peer.who, phase): max(1, min(40, int(TURN_NS / peer.ask(phase, 2)["ns"][1]))) for peer in all_peers for phase in PHASES}
    times = {key: [] for key in counts}
    for number in range(rounds):
        for phase in PHASES:
            for peer in all_peers[number % len(all_peers):] + all_peers[:number % len(all_peers)]:
                count = counts[peer.who, phase]
                first = 1 if count > 1 else 0  # what takes longer than a turn is not disturbed by cold caches
                times[peer.who, phase].append(median(peer.ask(phase, count + first)["ns"][first:]))
    whos = [peer.who for peer in all_peers]
    for phase in PHASES:
        print(f"{case}, {phase:<8}" + "".join(f"  {who} {median(times[who, phase]) / 1e6:.2f} ms" for who in whos))
        for who in whos[1:]:
            print(f"    {whos[0]} / {who}: {words([b / a for a, b in zip(times[who, phase], times[whos[0], phase])])}")
    for who in whos:
        ratios = [[b / a for a, b in zip(times[who, "forward"], times[who, phase])] for phase in PHASES[1:]]
        print(f"{case}, {who}: backward / forward {words(ratios[0])}; step / forward {words(ratios[1])}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=peers.BUILD, type=pathlib.Path)
    parser.add_argument("--folder", default=".deps/bench", type=pathlib.Path)
    parser.add_argument("--rounds", default=peers.usual(9), type=int)
    parser.add_argument("--cores", default="0", help="0 or 0,1: where all peers run, a thread each")
    parser.add_argument("--case", nargs="+", default=peers.usual(["resnet18", "dense", "sparse", "peptides"], ["sparse"]))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--layers", default=6, type=int)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    peers.in_environment(options.folder, *peers.TORCH)
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "engine"))
    if options.serve:
        return serve(options)
    sys.stdout.reconfigure(line_buffering=True)
    bad = []
    for case in options.case:
        all_peers = [Peer(options, case, who) for who in (["torch"] if peers.has("torch") else []) + ENGINES]
        bad += check(case, all_peers)
        race(case, all_peers, options.rounds)
        for peer in all_peers:
            peer.end()
    for line in bad:
        print(f"NOT AS AIMED: {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
