#!/usr/bin/env bash
# test-tutorial.sh PROGRAM: The commands of docs/tutorial-kernels.md, as they are written there, each after the ones before it;
# with a smaller image and a smaller study in place of kernels-quick, so that they end within a minute.
. "$(dirname "$0")/tap.sh"
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../docs/tutorial-kernels.md

if ! "$program" devices | grep -q '^onnxruntime:CPU  *available'; then
    echo '1..0 # SKIP no onnxruntime:CPU on this machine'
    exit 0
fi
mkdir "$scratch/bin" && ln -s "$program" "$scratch/bin/inferometer"
export PATH=$scratch/bin:$PATH IFM_KERNEL_CACHE=$scratch/kept
cd "$scratch" || exit 1

cat >small.yaml <<'END'
title: Kernels of two models
kind: kernels-under-load
models: ["resnet18,size=64", "squeezenet,size=64"]
held_out: ["mobilenet_v2,size=64"]
shapes: 80
loaded: 10
visits: 2
stress: [gemm]
levels: [30, 60]
cores: [same]
threads: [1]
devices:
  CPU: {device: "onnxruntime:CPU@0"}
protocol: {warmup: 1, min_runs: 3, max_runs: 200, ci: 5 %, time_budget: 5 ms}
END

# commands: those of the page, a line each, without comments, in the small.
commands()
{
    awk '/^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside && !/^#/ && NF' "$page" |
        sed -e 's/size=160/size=64/' -e 's|study run kernels-quick|study run ./small.yaml -o out/kernels-quick|'
}

run() { bash -c "$1"; }

commands >commands
check 'the page runs each verb of the walk' bash -c '
    for verb in "zoo export" "kernels list" "kernels export" "kernels extract" "kernels run" "study run" train predict evaluate; do
        grep -q "^inferometer $verb " commands || { echo "$verb is not among:"; cat commands; exit 1; }
    done'
while IFS= read -r command; do
    check "$command" run "$command"
done <commands
check 'it leaves what later steps need' test -s out/resnet18.onnx -a -s out/resnet18.json -a -s out/kernels-quick/kernels.csv -a \
    -s out/latency.json
finish
