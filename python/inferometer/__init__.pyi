# Made by tools/make-stubs from `inferometer help --json`.
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal

from ._errors import Crashed as Crashed, Error as Error, Failed as Failed
from ._errors import InputError as InputError, Unavailable as Unavailable, UsageError as UsageError
from ._command import ops_library as ops_library
from ._measure import Measured as Measured, measure as measure
from ._result import Figure as Figure, Result as Result, Summary as Summary

__version__: str
_Path = str | PathLike[str]
_Duration = float | str | timedelta
_Text = str | float
_Texts = _Text | Sequence[_Text]
_Pairs = _Texts | Mapping[str, Any]

def compare(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., a_device: _Text | None = ..., b_device: _Text | None = ..., batch: int | None = ...,
    dim: _Pairs | None = ..., input: _Pairs | None = ..., allow_outside_data: bool | None = ...,
    a_input: _Pairs | None = ..., b_input: _Pairs | None = ..., a_dim: _Pairs | None = ..., b_dim:
    _Pairs | None = ..., dtype: _Text | None = ..., a_dtype: _Text | None = ..., b_dtype: _Text |
    None = ..., threads: int | None = ..., a_threads: int | None = ..., b_threads: int | None = ...,
    option: _Pairs | None = ..., a_option: _Pairs | None = ..., b_option: _Pairs | None = ...,
    a_runtime: _Path | None = ..., b_runtime: _Path | None = ..., margin: float | str | None = ...,
    time_budget: _Duration | None = ..., max_pairs: int | None = ..., rounds: int | None = ...,
    seed: int | None = ..., no_verify: bool | None = ..., no_accuracy: bool | None = ..., samples:
    int | None = ..., layer_loss: int | None = ..., timeout: _Duration | None = ..., memory_limit:
    int | str | None = ..., json: _Path | None = ..., csv: _Path | None = ..., fail_if: _Text | None
    = ..., output: _Path | None = ..., html: _Path | None = ..., figures: _Path | None = ...,
    document: _Path | None = ..., all: bool | None = ..., quiet: bool | None = ..., log: _Path |
    None = ...) -> Result: ...

def devices(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., capabilities:
    bool | None = ..., document: _Path | None = ..., json: _Path | None = ..., quiet: bool | None =
    ..., log: _Path | None = ...) -> Result: ...

def evaluate(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., batch: int | None
    = ..., dim: _Pairs | None = ..., input: _Pairs | None = ..., allow_outside_data: bool | None =
    ..., html: _Path | None = ..., figures: _Path | None = ..., document: _Path | None = ..., all:
    bool | None = ..., with_: _Path | None = ..., load: _Texts | None = ..., no_kernels: bool | None
    = ..., device: _Text | None = ..., threads: int | None = ..., output: _Path | None = ...,
    resume: bool | None = ..., json: _Path | None = ..., csv: _Path | None = ..., quiet: bool | None
    = ..., log: _Path | None = ...) -> Result: ...

def kernels(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., seed: int | None = ..., cache: _Path | None = ..., no_cache: bool | None = ...,
    batch: int | None = ..., dim: _Pairs | None = ..., input: _Pairs | None = ...,
    allow_outside_data: bool | None = ..., html: _Path | None = ..., figures: _Path | None = ...,
    document: _Path | None = ..., all: bool | None = ..., json: _Path | None = ..., quiet: bool |
    None = ..., log: _Path | None = ...) -> Result: ...

def kernels_dag(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., seed: int | None = ..., cache: _Path | None = ..., no_cache: bool | None = ...,
    batch: int | None = ..., dim: _Pairs | None = ..., input: _Pairs | None = ...,
    allow_outside_data: bool | None = ..., output: _Path | None = ..., quiet: bool | None = ...,
    log: _Path | None = ...) -> Result: ...

def kernels_export(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., seed: int | None = ..., cache: _Path | None = ..., no_cache: bool | None = ...,
    batch: int | None = ..., dim: _Pairs | None = ..., input: _Pairs | None = ...,
    allow_outside_data: bool | None = ..., output: _Path | None = ..., graph: _Path | None = ...,
    quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def kernels_extract(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., seed: int | None = ..., cache: _Path | None = ..., no_cache: bool | None = ...,
    batch: int | None = ..., dim: _Pairs | None = ..., input: _Pairs | None = ...,
    allow_outside_data: bool | None = ..., output: _Path | None = ..., kernel: _Texts | None = ...,
    graph: _Path | None = ..., ring: bool | None = ..., html: _Path | None = ..., figures: _Path |
    None = ..., document: _Path | None = ..., all: bool | None = ..., json: _Path | None = ...,
    quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def kernels_list(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., seed: int | None = ..., cache: _Path | None = ..., no_cache: bool | None = ...,
    batch: int | None = ..., dim: _Pairs | None = ..., input: _Pairs | None = ...,
    allow_outside_data: bool | None = ..., html: _Path | None = ..., figures: _Path | None = ...,
    document: _Path | None = ..., all: bool | None = ..., json: _Path | None = ..., quiet: bool |
    None = ..., log: _Path | None = ...) -> Result: ...

def kernels_run(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., batch: int | None
    = ..., dim: _Pairs | None = ..., input: _Pairs | None = ..., allow_outside_data: bool | None =
    ..., html: _Path | None = ..., figures: _Path | None = ..., document: _Path | None = ..., all:
    bool | None = ..., device: _Text | None = ..., warmup: int | None = ..., runs: int | None = ...,
    no_warmup: bool | None = ..., threads: int | None = ..., output: _Path | None = ..., resume:
    bool | None = ..., json: _Path | None = ..., csv: _Path | None = ..., quiet: bool | None = ...,
    log: _Path | None = ...) -> Result: ...

def kernels_show(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Text |
    None = ..., seed: int | None = ..., cache: _Path | None = ..., no_cache: bool | None = ...,
    batch: int | None = ..., dim: _Pairs | None = ..., input: _Pairs | None = ...,
    allow_outside_data: bool | None = ..., html: _Path | None = ..., figures: _Path | None = ...,
    document: _Path | None = ..., all: bool | None = ..., json: _Path | None = ..., quiet: bool |
    None = ..., log: _Path | None = ...) -> Result: ...

def plan(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., size: _Texts
    | None = ..., objective: Literal['latency', 'throughput', 'energy'] | None = ..., pareto: bool |
    None = ..., by: Literal['median', 'mean', 'p95'] | None = ..., grid: _Texts | None = ...,
    max_blocks: int | None = ..., no_npu_split: bool | None = ..., implausible: bool | None = ...,
    use: _Texts | None = ..., without: _Texts | None = ..., power: _Pairs | None = ..., batches: int
    | None = ..., compare: _Path | None = ..., json: _Path | None = ..., table: _Path | None = ...,
    candidates: _Path | None = ..., trace: _Path | None = ..., output: _Path | None = ..., html:
    _Path | None = ..., figures: _Path | None = ..., document: _Path | None = ..., all: bool | None
    = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def predict(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., batch: int | None
    = ..., dim: _Pairs | None = ..., input: _Pairs | None = ..., allow_outside_data: bool | None =
    ..., html: _Path | None = ..., figures: _Path | None = ..., document: _Path | None = ..., all:
    bool | None = ..., with_: _Path | None = ..., load: _Text | None = ..., load_wait: _Duration |
    None = ..., device: _Text | None = ..., threads: int | None = ..., json: _Path | None = ...,
    quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def profile(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., device: _Pairs |
    None = ..., profile: _Texts | None = ..., mode: Literal['forward', 'backward', 'train'] | None =
    ..., loss: Literal['mse', 'cross-entropy'] | None = ..., optimiser: Literal['sgd', 'momentum',
    'adam'] | None = ..., learning_rate: _Text | None = ..., batch: int | None = ..., dim: _Pairs |
    None = ..., input: _Pairs | None = ..., allow_outside_data: bool | None = ..., scaling: _Texts |
    None = ..., dtype: _Text | None = ..., threads: int | None = ..., ci: float | str | None = ...,
    runs: int | None = ..., warmup: int | None = ..., time_budget: _Duration | None = ..., seed: int
    | None = ..., energy: _Text | None = ..., no_nodes: bool | None = ..., no_peak: bool | None =
    ..., new_peak: bool | None = ..., no_verify: bool | None = ..., expect: _Pairs | None = ...,
    tolerance_runs: int | None = ..., observe: bool | None = ..., native_async: bool | None = ...,
    conv: _Pairs | None = ..., conv_fallback: _Text | None = ..., conv_workspace: int | str | None =
    ..., option: _Pairs | None = ..., timeout: _Duration | None = ..., case_timeout: _Duration |
    None = ..., memory_limit: int | str | None = ..., resume: bool | None = ..., nodes: int | None =
    ..., json: _Path | None = ..., csv: _Path | None = ..., estimate: Literal['transformer',
    'attention', 'linear', 'mpnn', 'ffn', 'encoding'] | None = ..., predict: _Path | None = ...,
    num_nodes: int | None = ..., num_edges: int | None = ..., avg_degree: _Text | None = ...,
    dataset: _Path | None = ..., num_graphs: int | None = ..., feature_dim: int | None = ...,
    hidden_dim: int | None = ..., num_layers: int | None = ..., num_heads: int | None = ...,
    ffn_dim: int | None = ..., mpnn: Literal['none', 'gin', 'gcn', 'sage'] | None = ..., pe: _Text |
    None = ..., pe_dim: int | None = ..., attention: Literal['dense', 'sparse'] | None = ...,
    sparse_ratio: float | str | None = ..., norm: Literal['layer', 'batch'] | None = ..., head:
    Literal['graph', 'node'] | None = ..., num_outputs: int | None = ..., dropout: float | str |
    None = ..., scatter: Literal['auto', 'nd', 'elements', 'mixed'] | None = ..., group: bool | None
    = ..., output: _Path | None = ..., html: _Path | None = ..., figures: _Path | None = ...,
    document: _Path | None = ..., all: bool | None = ..., quiet: bool | None = ..., log: _Path |
    None = ...) -> Result: ...

def report(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., json: _Path | None = ..., html: _Path | None = ..., figures: _Path | None =
    ..., all: bool | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def run(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., progress: bool |
    Callable[[dict[str, Any]], object] | None = ..., plan: _Path | None = ..., table: _Path | None =
    ..., demo: bool | None = ..., size: _Texts | None = ..., graph: _Path | None = ..., partitions:
    int | None = ..., batches: int | None = ..., repetitions: int | None = ..., ci: float | str |
    None = ..., time_budget: _Duration | None = ..., queue_depth: int | None = ..., block_depth: int
    | None = ..., device_time: _Text | None = ..., verify: bool | None = ..., bound: bool | None =
    ..., pilot: _Duration | None = ..., on_failure: Literal['stop', 'replan'] | None = ...,
    watchdog: _Duration | None = ..., objective: Literal['latency', 'throughput', 'energy'] | None =
    ..., by: Literal['median', 'mean', 'p95'] | None = ..., grid: _Texts | None = ..., max_blocks:
    int | None = ..., no_npu_split: bool | None = ..., implausible: bool | None = ..., use: _Texts |
    None = ..., without: _Texts | None = ..., power: _Pairs | None = ..., device: _Pairs | None =
    ..., model: _Text | None = ..., features: int | None = ..., hidden: int | None = ..., seed: int
    | None = ..., json: _Path | None = ..., csv: _Path | None = ..., trace: _Path | None = ...,
    output: _Path | None = ..., resume: bool | None = ..., html: _Path | None = ..., figures: _Path
    | None = ..., document: _Path | None = ..., all: bool | None = ..., quiet: bool | None = ...,
    log: _Path | None = ...) -> Result: ...

def store(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def store_check(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., quiet: bool |
    None = ..., log: _Path | None = ...) -> Result: ...

def store_export(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., format: _Text
    | None = ..., samples: bool | None = ..., output: _Path | None = ..., json: _Path | None = ...,
    csv: _Path | None = ..., document: _Path | None = ..., quiet: bool | None = ..., log: _Path |
    None = ...) -> Result: ...

def store_merge(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., quiet: bool |
    None = ..., log: _Path | None = ...) -> Result: ...

def store_show(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def stress(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., progress: bool |
    Callable[[dict[str, Any]], object] | None = ..., kind: _Text | None = ..., intensity: _Text |
    None = ..., cores: _Texts | None = ..., device: _Text | None = ..., for_: _Duration | None =
    ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., progress: bool |
    Callable[[dict[str, Any]], object] | None = ..., device: _Pairs | None = ..., only: _Text | None
    = ..., ci: float | str | None = ..., runs: int | None = ..., warmup: int | None = ...,
    time_budget: _Duration | None = ..., timeout: _Duration | None = ..., case_timeout: _Duration |
    None = ..., memory_limit: int | str | None = ..., retry: bool | None = ..., attempts: int | None
    = ..., total_time: _Duration | None = ..., order: Literal['as-listed', 'interleaved'] | None =
    ..., shard: _Text | None = ..., output: _Path | None = ..., model: _Texts | None = ...,
    algorithm: _Texts | None = ..., set: _Pairs | None = ..., level: _Text | None = ..., test: bool
    | None = ..., quick: bool | None = ..., num_sizes: int | None = ..., max_size: int | None = ...,
    batch: int | None = ..., list_models: bool | None = ..., list_algorithms: bool | None = ...,
    check_cuda: bool | None = ..., html: _Path | None = ..., figures: _Path | None = ..., document:
    _Path | None = ..., all: bool | None = ..., json: _Path | None = ..., csv: _Path | None = ...,
    quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_export(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., output: _Path
    | None = ..., model: _Texts | None = ..., algorithm: _Texts | None = ..., set: _Pairs | None =
    ..., level: _Text | None = ..., test: bool | None = ..., quick: bool | None = ..., num_sizes:
    int | None = ..., max_size: int | None = ..., batch: int | None = ..., html: _Path | None = ...,
    figures: _Path | None = ..., document: _Path | None = ..., all: bool | None = ..., json: _Path |
    None = ..., csv: _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_import(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., output: _Path
    | None = ..., name: _Text | None = ..., features: int | None = ..., hidden: int | None = ...,
    replace: bool | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_list(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_lookup(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., nodes: int | None = ..., edges: int | None = ..., json: _Path | None = ...,
    csv: _Path | None = ..., output: _Path | None = ..., quiet: bool | None = ..., log: _Path | None
    = ...) -> Result: ...

def study_merge(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., output: _Path
    | None = ..., model: _Texts | None = ..., algorithm: _Texts | None = ..., set: _Pairs | None =
    ..., level: _Text | None = ..., test: bool | None = ..., quick: bool | None = ..., num_sizes:
    int | None = ..., max_size: int | None = ..., batch: int | None = ..., quiet: bool | None = ...,
    log: _Path | None = ...) -> Result: ...

def study_predict(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., html: _Path |
    None = ..., figures: _Path | None = ..., document: _Path | None = ..., all: bool | None = ...,
    model: _Text | None = ..., dim: _Pairs | None = ..., size: int | None = ..., threads: int | None
    = ..., json: _Path | None = ..., csv: _Path | None = ..., output: _Path | None = ..., quiet:
    bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_run(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., progress: bool |
    Callable[[dict[str, Any]], object] | None = ..., device: _Pairs | None = ..., only: _Text | None
    = ..., ci: float | str | None = ..., runs: int | None = ..., warmup: int | None = ...,
    time_budget: _Duration | None = ..., timeout: _Duration | None = ..., case_timeout: _Duration |
    None = ..., memory_limit: int | str | None = ..., retry: bool | None = ..., attempts: int | None
    = ..., total_time: _Duration | None = ..., order: Literal['as-listed', 'interleaved'] | None =
    ..., shard: _Text | None = ..., output: _Path | None = ..., model: _Texts | None = ...,
    algorithm: _Texts | None = ..., set: _Pairs | None = ..., level: _Text | None = ..., test: bool
    | None = ..., quick: bool | None = ..., num_sizes: int | None = ..., max_size: int | None = ...,
    batch: int | None = ..., list_models: bool | None = ..., list_algorithms: bool | None = ...,
    check_cuda: bool | None = ..., html: _Path | None = ..., figures: _Path | None = ..., document:
    _Path | None = ..., all: bool | None = ..., json: _Path | None = ..., csv: _Path | None = ...,
    quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_status(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., output: _Path
    | None = ..., model: _Texts | None = ..., algorithm: _Texts | None = ..., set: _Pairs | None =
    ..., level: _Text | None = ..., test: bool | None = ..., quick: bool | None = ..., num_sizes:
    int | None = ..., max_size: int | None = ..., batch: int | None = ..., document: _Path | None =
    ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def study_submit(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., progress: bool |
    Callable[[dict[str, Any]], object] | None = ..., slurm: bool | None = ..., shards: int | None =
    ..., missing: bool | None = ..., dry_run: bool | None = ..., cluster: _Path | None = ..., gpu:
    _Text | None = ..., partition: _Text | None = ..., constraint: _Text | None = ..., gres: _Texts
    | None = ..., account: _Text | None = ..., qos: _Text | None = ..., time: _Duration | None =
    ..., mem: int | str | None = ..., cpus_per_task: int | None = ..., exclusive: bool | None = ...,
    sbatch: _Texts | None = ..., program: _Path | None = ..., device: _Pairs | None = ..., ci: float
    | str | None = ..., runs: int | None = ..., warmup: int | None = ..., time_budget: _Duration |
    None = ..., timeout: _Duration | None = ..., case_timeout: _Duration | None = ..., memory_limit:
    int | str | None = ..., retry: bool | None = ..., attempts: int | None = ..., total_time:
    _Duration | None = ..., order: Literal['as-listed', 'interleaved'] | None = ..., model: _Texts |
    None = ..., algorithm: _Texts | None = ..., set: _Pairs | None = ..., level: _Text | None = ...,
    test: bool | None = ..., quick: bool | None = ..., num_sizes: int | None = ..., max_size: int |
    None = ..., batch: int | None = ..., output: _Path | None = ..., quiet: bool | None = ..., log:
    _Path | None = ...) -> Result: ...

def trace(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., html: _Path |
    None = ..., figures: _Path | None = ..., document: _Path | None = ..., all: bool | None = ...,
    json: _Path | None = ..., csv: _Path | None = ..., window: _Texts | None = ..., batch: int |
    None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def trace_diff(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., html: _Path |
    None = ..., figures: _Path | None = ..., document: _Path | None = ..., all: bool | None = ...,
    json: _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def train(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., progress: bool |
    Callable[[dict[str, Any]], object] | None = ..., method: Literal['chosen', 'boosted', 'forest']
    | None = ..., seed: int | None = ..., allow_disturbed: bool | None = ..., threads: int | None =
    ..., html: _Path | None = ..., figures: _Path | None = ..., document: _Path | None = ..., all:
    bool | None = ..., output: _Path | None = ..., no_evaluation: bool | None = ..., show_features:
    bool | None = ..., columns: _Texts | None = ..., machines: _Path | None = ..., machine: _Text |
    None = ..., runtime: _Text | None = ..., device: _Text | None = ..., level: _Text | None = ...,
    json: _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def tune(
    *arguments: Any, devices: str | Sequence[str] | Mapping[str, str] | None = ..., inputs: Any |
    None = ..., progress: bool | Callable[[dict[str, Any]], object] | None = ..., out: _Path | None
    = ..., device: _Text | None = ..., batch: int | None = ..., dim: _Pairs | None = ..., input:
    _Pairs | None = ..., allow_outside_data: bool | None = ..., threads: int | None = ..., option:
    _Pairs | None = ..., margin: float | str | None = ..., time_budget: _Duration | None = ...,
    seed: int | None = ..., timeout: _Duration | None = ..., memory_limit: int | str | None = ...,
    output: _Path | None = ..., predict: _Text | None = ..., show: _Path | None = ..., list: bool |
    None = ..., clear: bool | None = ..., cache: _Path | None = ..., document: _Path | None = ...,
    json: _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def zoo(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., json: _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def zoo_export(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., output: _Path
    | None = ..., config: _Path | None = ..., seed: int | None = ..., force: bool | None = ...,
    resume: bool | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...

def zoo_list(
    *arguments: Any, progress: bool | Callable[[dict[str, Any]], object] | None = ..., document:
    _Path | None = ..., json: _Path | None = ..., quiet: bool | None = ..., log: _Path | None = ...) -> Result: ...
