#!/usr/bin/env bash
# test-recompute.sh PROGRAM: That what a study writes follows from its raw measurements: recompute.py computes it again with
# numpy, for a study that is measured on simulated devices and for a published table; and that it would notice what does not.
. "$(dirname "$0")/tap.sh"
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

# The distribution's numpy belongs to its own python3.
for python in /usr/bin/python3 python3; do
    "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
if [[ -z $python ]]; then
    echo '1..0 # SKIP no python3 with numpy (package python3-numpy)'
    exit 0
fi
cd "$scratch" || exit 1

cat >small.yaml <<'END'
title: Small graphs, for recomputing
subject: {model: graphsage, features: 20, hidden: 12}
graph: {kind: uniform, seed: 3}
sizes:
  - {nodes: 1000, edges: [1000, 2000, 5000, 10000]}
  - {nodes: 2000, edges: [2000, 5000, 10000]}
  - {nodes: 5000, edges: [5000, 10000]}
devices:
  CPU: {device: "simulated:meteor-lake/CPU", form: dynamic}
  GPU: {device: "simulated:meteor-lake/GPU", form: dynamic}
  NPU: {device: "simulated:meteor-lake/NPU", form: static}
protocol: {warmup: 2, runs: 12}
END

recompute() { "$python" -B "$here/recompute.py" "$@"; }

# answers FOLDER NODES EDGES: what the program says of a size is what is recomputed.
answers()
{
    "$program" study lookup "$1" --nodes "$2" --edges "$3" --json answers.json && recompute "$1" answers.json "$2" "$3"
}

# notices PATTERN EDIT: with the study's files changed by some Python, the difference is named.
notices()
{
    rm -rf altered && cp -r measured altered || return
    "$python" -c "
import json
def load(name): return json.load(open('altered/' + name))
def save(name, table): json.dump(table, open('altered/' + name, 'w'))
$2" || return
    ! recompute altered >out || { echo 'nothing was noticed'; return 1; }
    cat out
    grep -q -- "$1" out
}

# The NPU refuses stages 3 and 4: a study with such cases is measured whole, and exits 1.
measure()
{
    local status=0
    "$program" study run ./small.yaml -o measured || status=$?
    [[ $status -eq 1 && -s measured/lookup_table.json ]]
}

check 'a study is measured' measure
check 'its tables follow from its samples' recompute measured
check 'a published table is imported' \
    "$program" study import "$root/data/meteor-lake/large-55-sizes.csv" --hidden 500 --name published -o published
check 'and exported' "$program" study export published
check 'its tables follow from its latencies' recompute published

check 'a size between the measured ones' answers measured 1500 3000
check 'a size that was measured' answers measured 2000 5000
check 'a size beyond them' answers measured 50000 400000
check 'a size between the published ones' answers published 12345 67890
check 'an answer to another question' eval '! recompute measured answers.json 12346 67890'

check 'a sample that was changed' notices '1000,2000,CPU,1: mean' "
raw = load('raw_measurements.json'); raw['1000,2000,CPU,1']['samples_ms'][0] += 0.5; save('raw_measurements.json', raw)"
check 'another bandwidth' notices '^recompute: CPU_stage2: found' "
table = load('bandwidth_table.json'); table['CPU_stage2'] = (table['CPU_stage2'] or 1000) * 1.001; save('bandwidth_table.json', table)"
check 'a slope that is another' notices 'CPU_stage3: slope' "
table = load('bandwidth_table.json'); table['_metadata']['fits']['CPU_stage3']['slope_ms_per_mb'] *= 1.0001
save('bandwidth_table.json', table)"
check 'a total that is no median' notices '2000,5000,GPU,6: total_time_ms' "
table = load('lookup_table.json'); table['2000,5000,GPU,6']['total_time_ms'] *= 1.000001; save('lookup_table.json', table)"
check 'a split that was made up' notices '1000,1000,CPU,.: ' "
table = load('lookup_table.json')
for stage in range(1, 8):
    row = table['1000,1000,CPU,%d' % stage]
    row['transfer_time_ms'], row['compute_time_ms'] = row['total_time_ms'], 0.0
save('lookup_table.json', table)"
check 'an error of the lookup that is prettier' notices 'GPU_stage1: leave_one_out median_ratio' "
table = load('lookup_table.json'); table['_metadata']['leave_one_out']['GPU_stage1']['median_ratio'] *= 0.5
save('lookup_table.json', table)"
check 'a row that is gone' notices 'NPU_stage5: sizes in the lookup table' "
table = load('lookup_table.json'); del table['5000,5000,NPU,5']; save('lookup_table.json', table)"
check 'a failure that became a latency' notices 'NPU_stage3' "
raw = load('raw_measurements.json')
for key in raw:
    if raw[key].get('failed'): raw[key] = dict(raw['1000,1000,CPU,1'])
save('raw_measurements.json', raw)"
finish
