#!/usr/bin/env bash
# test-processors.sh PROGRAM GRAPH-TEST KERNEL-TEST NETWORK-TEST: The program and the tests of convolutions on processors that this machine
# does not have, as qemu shows them: the runtimes then take other kernels and other blocks of channels.
. "$(dirname "$0")/tap.sh"
program=$(realpath "$1") graphs=$(realpath "$2") kernels=$(realpath "$3") networks=$(realpath "$4")
root=$(cd "$(dirname "$0")/../.." && pwd)
[[ $(uname -m) == x86_64 ]] || { echo '1..0 # SKIP no x86-64 machine'; exit 0; }
qemu=$(command -v qemu-x86_64) || { echo '1..0 # SKIP no qemu-x86_64 (package qemu-user)'; exit 0; }
cd "$scratch" || exit 1
export IFM_TUNING_CACHE=$scratch/tuning.json
worker=${IFM_WORKER:-$(dirname "$program")/inferometer-worker}

# tests PROGRAM PATH...: those tests, in one process. A process that a test starts would see the real processor.
tests()
{
    local paths=() path
    for path in "${@:2}"; do
        paths+=(-p "$path")
    done
    timeout "$limit_s" "$qemu" -cpu "$cpu" "$1" --GTestSubprocess "${paths[@]}"
}

# profile MODEL OPTION...: the outputs are right by the reference. The worker is emulated, too.
profile()
{
    printf '#!/bin/sh\nexec %s -cpu %s %s "$@"\n' "$qemu" "$cpu" "$worker" >worker
    chmod +x worker
    IFM_WORKER=$scratch/worker timeout "$limit_s" "$qemu" -cpu "$cpu" "$program" profile "$@" -q -t 1 --warmup 0 --runs 2 --no-peak --json - \
        -o "$scratch/out" >profile.json || return
    grep -q '"status": "passed"' profile.json && ! grep -q '"status": "failed"' profile.json
}

with_conv()
{
    profile "$root/tests/data/preact-resnet.onnx" -d onnxruntime:CPU --conv implicit_gemm --conv-fallback direct || return
    [[ $(grep -c "\"implementation\": \"patches packed .*, $isa " profile.json) -gt 0 ]]
}

# Some processors emulate the multiply-adds of another a hundred times slower than others do; then a test is left out.
limit_s=60
emulated()
{
    local name=$1 status=0
    shift
    "$@" >"$scratch/emulated.log" 2>&1 || status=$?
    if [[ $status -eq 124 ]]; then
        skip "$name" "not done in $limit_s s: this processor emulates it too slowly"
    else
        check "$name" replay "$status"
    fi
}
replay() { cat "$scratch/emulated.log"; return "$1"; }

# Each network of an exporter by one of the algorithms, which take turns.
exported()
{
    local paths=() algorithms name i=${#isa} # so that the two processors begin with another
    read -ra algorithms <<<"$("$networks" -l | sed -n 's,^/conv-networks/same-upper/,,p' | grep -v reference | tr '\n' ' ')"
    for name in $("$networks" -l | sed -n 's,^/conv-networks/\(.*\)/guess$,\1,p'); do
        paths+=("/conv-networks/$name/${algorithms[i++ % ${#algorithms[@]}]}")
    done
    [[ ${#paths[@]} -gt 30 ]] && tests "$networks" "${paths[@]}"
}

export IFM_TEST_NETWORKS=$scratch/networks
for python in "${IFM_TEST_PYTHON:-python3}" /usr/bin/python3; do
    "$python" "$root/tests/engine/conv-networks.py" "$IFM_TEST_NETWORKS" >/dev/null 2>&1 && break
done

# A processor with AVX2, and one without AVX: name, instruction set of the own kernels, tests. qemu has no AVX-512.
while read -r name isa paths; do
    cpu=$name # what qemu lacks of it is left out
    [[ $name != Haswell ]] || cpu=Haswell-noTSX,-invpcid,-pcid,-x2apic,-tsc-deadline
    emulated "$name: oneDNN's direct kernels" tests "$kernels" "/convolution/$isa/fused/direct" "/convolution/$isa/grid/direct"
    # shellcheck disable=SC2086 # several paths
    emulated "$name: convolutions in ONNX Runtime's graph" tests "$graphs" $paths
    if [[ -d $IFM_TEST_NETWORKS ]]; then
        emulated "$name: networks of exporters" exported
    else
        skip "$name: networks of exporters" 'no python3 with torch and onnx (IFM_TEST_PYTHON names another one)'
    fi
    for device in onnxruntime:CPU openvino:CPU; do
        if "$program" devices | grep -q "^$device  *available"; then
            emulated "$name: profile on $device" profile small-cnn -d $device
        else
            skip "$name: profile on $device" "no $device on this machine"
        fi
    done
    if "$program" devices | grep -q '^onnxruntime:CPU  *available'; then
        emulated "$name: profile --conv" with_conv
    else
        skip "$name: profile --conv" 'no onnxruntime:CPU on this machine'
    fi
    isas=${isas:+$isas, }$isa
done <<'END'
Haswell avx2 /conv-graph/windows/direct /conv-graph/inputs/direct /conv-graph/inputs/guess /conv-graph/same-upper/fft /conv-graph/chain
Nehalem portable /conv-graph/inputs/direct /conv-graph/preact-resnet/winograd
END
echo "# instruction sets: $isas, emulated"
finish
