#!/usr/bin/env bash
# That `make install` gives a program, a worker and a library that work from their prefix with the sources and .deps gone.
# A copy of the sources is built, installed, added to and deleted; nothing outside a private folder is written.
. "$(dirname "$0")/tap.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
prefix=$scratch/prefix
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR PREFIX BUILD IFM_DATA_DIR IFM_WORKER IFM_ONNXRUNTIME_LIBRARY IFM_OPENVINO_LIBRARY
cd "$scratch" || exit 1

copy_sources()
{
    mkdir source || return
    (cd "$root" && { git ls-files 2>/dev/null || find . -path ./.deps -prune -o -path './build*' -prune -o -type f -print; } |
        tar -c -T - 2>/dev/null) | tar -x -C source
    cp -a "$(realpath "$root/.deps")" source/.deps && rm -rf source/.deps/.new-* source/.deps/bench source/.deps/wheelhouse
}

# Into a stage, as packagers do; then moved to the prefix for which it was made.
install_program()
{
    make -C source install DESTDIR="$scratch/stage" PREFIX="$prefix" MESON_EXTRA='-Dtests=false -Doptimization=0' || return
    [[ ! -e $prefix ]] || { echo "written outside DESTDIR: $prefix"; return 1; }
    mv "stage$prefix" "$prefix" && rm -rf stage
}

# One of each kind of thing that docs/ says how to add: an operator, a case kind, a study kind, a model, a sensor and a verb. Then
# the sources go.
additions()
{
    local made=./source/build/inferometer
    export IFM_DATA_DIR=$scratch/source
    "$root/tests/system/additions/add.py" source && ninja -C source/build >ninja.log 2>&1 || { tail -20 ninja.log; return 1; }
    printf '%s\n' 'title: naps' 'kind: naps' 'lengths_us: [100, 200]' 'devices: {host: {device: "simulated:ideal/CPU"}}' \
        'protocol: {warmup: 1, runs: 6}' >naps.yaml
    prints '^work .* 192 FLOP' $made profile ramp --profile flops && # the operator of the model
        prints '^[0-9.]* .*s$' $made nap --length 500 -o naps.d && # the verb of the case kind
        prints '^host:CPU .* nap ' $made store show naps.d/store.db &&
        $made store export naps.d/store.db --json naps.json >/dev/null &&
        grep -q '"pid_max": [0-9]' naps.json && # the sensor
        prints '2 cases: 2 measured' $made study run ./naps.yaml -o naps.s --quiet
    local status=$?
    unset IFM_DATA_DIR
    rm -rf source
    return $status
}

has_files()
{
    local file missing=0
    for file in "$@"; do
        [[ -e $prefix/$file ]] || { echo "missing: $file"; missing=1; }
    done
    return $missing
}

devices_are_ours()
{
    program devices --json devices.json >/dev/null || return
    cat devices.json
    grep -q "\"$prefix/lib/inferometer/onnxruntime/lib/libonnxruntime.so" devices.json &&
        grep -q "\"$prefix/lib/inferometer/openvino/lib/libopenvino_c.so" devices.json
}

program() { "$prefix/bin/inferometer" "$@"; }

profile_both()
{
    program zoo export matmul m=64 k=64 n=64 -o matmul.onnx &&
        program profile matmul.onnx --device openvino:CPU --device onnxruntime:CPU --warmup 2 --runs 5 --json result.json -o out.d &&
        python3 -c 'import json; assert [case["outcome"] for case in json.load(open("result.json"))["cases"]] == ["ok", "ok"]'
}

compile_examples()
{
    local source
    for source in "$root"/examples/*.c; do
        [[ $source != */tuned.c ]] || continue # of ONNX Runtime alone
        [[ $(wc -l <"$source") -lt 60 ]] || { echo "$source: 60 lines or more"; return 1; }
        "${CC:-cc}" -Wall -Werror "$source" -o "$(basename "$source" .c)" $(pkg-config --cflags --libs inferometer) || return
    done
}

# One that needs ONNX Runtime alone, and the library of the operators. The runtime's file lacks the name that it is asked for by.
compile_tuned()
{
    local runtime=$prefix/lib/inferometer/onnxruntime/lib/libonnxruntime.so
    "${CC:-cc}" -Wall -Werror "$root/examples/tuned.c" -o tuned -I "$root/.deps/onnxruntime/include" "$runtime" &&
        ln -sf "$runtime" libonnxruntime.so.1 && [[ $(LD_LIBRARY_PATH=. ./tuned 2>&1) == 'usage: tuned LIBRARY MODEL' ]]
}

# example NAME ARGUMENT...: runs an example with the installed library, which pkg-config tells it the place of. An example lies
# elsewhere: it finds the worker and the devices by the library.
example() { env -u LD_LIBRARY_PATH "./$@"; }

measure_callback() { prints '"median": [0-9]' example measure-callback; }

# The example prints what the command writes with the same options.
run_study()
{
    local study=$root/tests/system/small-study.yaml
    example run-study "$study" example.d >example.json &&
        program study run "$study" -o command.d --quiet >/dev/null &&
        "$root/tests/system/same-json.py" example.json command.d/lookup_table.json
}

profile_training()
{
    example profile-training matmul,m=16 simulated:ideal/CPU >example.json &&
        program profile matmul,m=16 -d simulated:ideal/CPU --mode train --optimiser adam --runs 10 -o command.d \
            --json command.json --quiet >/dev/null &&
        "$root/tests/system/same-json.py" example.json command.json
}

compare_models()
{
    example compare matmul,m=16 matmul,m=16 simulated:ideal/CPU >example.json &&
        program compare matmul,m=16 matmul,m=16 -d simulated:ideal/CPU --max-pairs 40 --rounds 4 -o command.d \
            --json command.json --quiet >/dev/null &&
        "$root/tests/system/same-json.py" example.json command.json
}

plan_and_run()
{
    local devices="CPU=simulated:meteor-lake/CPU GPU=simulated:meteor-lake/GPU NPU=simulated:meteor-lake/NPU"
    # shellcheck disable=SC2086
    program study import "$root/data/meteor-lake/large-55-sizes.csv" -o laptop --quiet >/dev/null &&
        example plan-and-run ./laptop $devices >example.json &&
        program run ./laptop --size 5000,10000 --batches 20 $(printf -- '-d %s ' $devices) --json command.json --quiet \
            >/dev/null &&
        "$root/tests/system/same-json.py" example.json command.json
}

check 'the sources are copied' copy_sources
check 'make install, staged' install_program
check 'one incremental build adds one of each kind' additions
check 'everything is in its place' has_files bin/inferometer libexec/inferometer/inferometer-worker lib/libinferometer.so \
    lib/libinferometer.a lib/libinferometer_ops.so include/inferometer/measure.h lib/pkgconfig/inferometer.pc share/inferometer/LICENSE \
    share/inferometer/devices/meteor-lake.yaml share/man/man1/inferometer.1 \
    share/bash-completion/completions/inferometer share/fish/vendor_completions.d/inferometer.fish share/zsh/site-functions/_inferometer \
    lib/inferometer/onnxruntime/lib/libonnxruntime.so lib/inferometer/openvino/lib/libopenvino_c.so
check 'the program starts' prints '^inferometer [0-9]' program --version
check 'it finds its own runtimes' devices_are_ours
check 'it lists its own simulated device' prints 'simulated:meteor-lake/' program devices
check 'it measures through its own worker, on both engines' profile_both
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
check 'pkg-config knows the version' prints '^[0-9]' pkg-config --modversion inferometer
check 'the examples compile against it, each below 60 lines' compile_examples
check 'the example of a tuned model compiles against ONNX Runtime' compile_tuned
check 'an example measures a function of its own' measure_callback
check 'an example runs a study as the command does' run_study
check 'an example profiles a training step as the command does' profile_training
check 'an example compares two models as the command does' compare_models
check 'an example plans and runs a pipeline as the command does' plan_and_run
finish
