"""As users of the framework estimate a model before they train it."""
from inferometer.graph_profiling import (FLOPsEstimate, estimate_attention_flops, estimate_attention_memory, estimate_linear_flops,
                                         estimate_model_flops, estimate_pe_storage)

whole = estimate_model_flops(num_nodes=300, num_edges=1500, hidden_dim=128, num_layers=4, num_heads=8, ffn_dim=256)
assert isinstance(whole, FLOPsEstimate) and whole.breakdown["attention"] == 4 * estimate_attention_flops(300, 128, 8)
print(f"{whole.total / 1e9:.3f} GFLOP", {part: f"{100 * flop / whole.total:.0f} %" for part, flop in whole.breakdown.items()})
assert estimate_linear_flops(128, 64, batch_size=8, seq_len=50) == 2 * 128 * 64 * 400
memory = estimate_attention_memory(num_nodes=300, num_heads=8, hidden_dim=128, batch_size=2)
encoding = estimate_pe_storage(num_nodes=300, node_pe_dim=16, relative_pe_buckets=8, sparse_ratio=0.05)
print(f"{memory:.2f} MB of attention, {encoding['node_pe']:.3f} MB of encodings")
