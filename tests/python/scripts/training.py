"""As users of the framework time a model and its training, and look at its memory."""
import torch

from inferometer.graph_profiling import (FLOPsEstimator, MemoryProfiler, ProfilingContext, RuntimeProfiler, get_memory_breakdown,
                                         profile_forward, set_seed)

set_seed(42)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Dropout(0.2), torch.nn.Linear(64, 8))
batch = torch.randn(100, 32)
with ProfilingContext(model, disable_dropout=True, eval_mode=True, seed=42):
    alone = profile_forward(model, batch, num_runs=20, warmup_runs=2)
assert model.training and model[2].p == 0.2 and alone.min <= alone.mean
profiler = RuntimeProfiler(model, "cpu", num_runs=15)
for name, stats in profiler.profile_all(batch, optimizer=torch.optim.AdamW(model.parameters())).items():
    print(f"{name}: {stats}")
assert MemoryProfiler(model, "cpu").profile_forward(batch).peak_mb > 0
assert get_memory_breakdown(model, batch, "cpu")["parameters"] > 0
estimator = FLOPsEstimator(model)
assert estimator.count_parameters() == 32 * 64 + 64 + 64 * 8 + 8
assert estimator.estimate(num_nodes=100, num_edges=0).total == 100 * (64 * 65 + 8 * 129)
