#!/usr/bin/env bash
# test-page.sh PROGRAM PAGE NEEDS VERB...: Every command of a page (a path from docs/), as they are written there, each after the ones before
# it (tools/run-page); what takes long is made smaller. NEEDS: a device, or - for nothing. VERB: what the page must show.
set -uo pipefail
program=$(realpath "$1") page=$2 needs=$3
verbs=("${@:4}")
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..

skip() { echo "1..0 # SKIP $1" && exit 0; }
case $needs in
    -) ;;
    *) "$program" devices | grep -q "^$needs  *available" || skip "no $needs on this machine" ;;
esac

for verb in "${verbs[@]}"; do
    grep -q "^inferometer $verb " "$root/docs/$page" && continue
    printf '1..1\nnot ok 1 - %s shows %s\n' "$page" "$verb"
    exit 1
done

exec "$root/tools/run-page" \
    --answer 'Nothing is written: the tuned model is' \
    --replace 'build/inferometer study run gnn-stages' 'build/inferometer study run gnn-stages --warmup 1 --runs 1' \
    --replace 'study run gnn-plan' "study run gnn-plan --warmup 1 --runs 2 --set 'sizes=[{nodes: 2000, edges: [4000]}, {nodes: 5000, edges: [10000]}]'" \
    --replace 'bound --verify' 'bound --verify --batches 5 --repetitions 1' \
    --replace 'resnet18,batch=8 --mode train' 'squeezenet,size=64 --mode train --no-peak --warmup 1 --runs 3' \
    --replace 'study run conv-algorithms' "study run $here/small-convolutions.yaml" \
    --replace 'compare squeezenet mobilenet_v2' 'compare squeezenet,size=64 squeezenet,size=32 --time-budget 1s' \
    --replace 'resnet18 size=160' 'resnet18 size=64' \
    --replace ' --set shapes=160 --set loaded=20 --set levels=[30,60]' '' \
    --replace 'study run kernels-quick' "study run $here/small-kernels.yaml -o out/kernels-quick" \
    --replace 'resnet18,size=160' 'squeezenet,size=64' --replace 'resnet18 --dim size=64,96,128,160' 'squeezenet --dim size=64,80,96' \
    --replace 'squeezenet,size=64,batch=8' 'squeezenet,size=64' --replace 'resnet18,size=64' 'squeezenet,size=64' \
    --replace 'zoo export mobilenet_v2' 'zoo export squeezenet size=64' \
    --replace 'profile model.onnx' 'profile model.onnx --no-peak --warmup 1 --runs 3' \
    --replace 'openvino:CPU@0 --nodes 5' 'openvino:CPU@0 --no-peak' \
    --replace 'CPU@0 --conv best' 'CPU@0 --no-peak --conv best' \
    --replace '--time-budget 20s' '--time-budget 1s' --replace '--time-budget 5s' '--warmup 1 --runs 3' \
    --replace '--time-budget 8s' '--warmup 1 --runs 3' --replace '--time-budget 4s -q' '--warmup 1 --runs 3 -q' \
    --replace 'sizes: [96, 128, 160]' 'sizes: [64, 80]' --replace '[direct, implicit_gemm, winograd, runtime]' '[winograd, runtime]' \
    --replace 'resnet18,size=96' 'resnet18,size=32' --replace 'runs: 20' 'runs: 3' --replace 'size 144' 'size 72' \
    "$program" "$root/docs/$page"
