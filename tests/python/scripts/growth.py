"""As users of the framework look at how a model grows."""
import torch

from inferometer.graph_profiling import ScalingExperiment, run_layer_scaling, run_node_scaling

result = run_node_scaling(lambda **sizes: torch.nn.Linear(16, 4), num_nodes_list=[64, 128], avg_degree=4)
for nodes, stats in zip(result.parameter_values, result.runtime_stats):
    print(nodes, stats.mean, stats.std)
layers = run_layer_scaling(lambda num_layers: torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(num_layers)]),
                           num_layers_list=[1, 2], num_nodes=50)
assert len(layers.runtime_stats) == 2
experiment = ScalingExperiment(lambda **sizes: torch.nn.Linear(16, 4), "cpu")
experiment.run_node_scaling(num_nodes_list=[16])
experiment.print_summary()
