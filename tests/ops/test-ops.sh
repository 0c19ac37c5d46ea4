#!/usr/bin/env bash
# test-ops.sh LIBRARY INFEROMETER: libinferometer_ops.so needs the C library alone and exports one function; it is loaded by PyPI's onnxruntime,
# the pinned one and the two minor versions before it, and the oldest that has its interface, with each instruction set. What pip does not reach is skipped.
. "$(dirname "$0")/../system/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
library=$(realpath "$1") inferometer=$(realpath "$2")
python=/usr/bin/python3
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV IFM_CONV_ISA
cd "$scratch" || exit 1

needs_c_alone()
{
    ldd "$library"
    ! ldd "$library" | grep -vE '^\s*(linux-vdso|lib(c|m|pthread)\.so\.6 |/lib64/ld-linux)'
}

exports_one() { [[ $(nm -D --defined-only "$library" | awk '{ print $3 }' | tee /dev/stderr) == RegisterCustomOps ]]; }

# minors VERSION: "1.31" -> "1.30 1.29"
minors() { echo "${1%.*}.$((${1#*.} - 1)) ${1%.*}.$((${1#*.} - 2))"; }

# install VERSION WHERE...: an environment venv-VERSION with the system's onnx, and onnxruntime from there.
install()
{
    "$python" -m venv --system-site-packages "venv-$1" &&
        "venv-$1/bin/pip" install -q --disable-pip-version-check "${@:2}" "onnxruntime==$1.*" 'numpy<2'
}

# Its tests become tests here.
runs()
{
    local line result
    while IFS= read -r line; do
        case $line in
            ok\ * | not\ ok\ *)
                n_tests=$((n_tests + 1))
                result=${line%%[0-9]*}
                echo "$result$n_tests - onnxruntime $1, ${2:-any}: ${line#* - }" ;;
            1..*) return ;;
            *) echo "# ${line#\# }" ;;
        esac
    done < <(IFM_CONV_ISA=$2 "venv-$1/bin/python" "$here/ops.py" "$library" "$scratch" "${tuned[@]}" 2>&1)
    n_tests=$((n_tests + 1))
    echo "not ok $n_tests - onnxruntime $1, ${2:-any}: it ended early"
}

# tune ISA FILE: the plain model, tuned in these kernels. It is written whether it is faster or not.
tune()
{
    env IFM_TUNE_ANYWAY=1 ${1:+IFM_CONV_ISA="$1"} "$inferometer" tune plain.onnx -o "$2" --threads 1 --dim n=1 --dim h=32 --dim w=48 \
        --time-budget 2s --output out --quiet
}

# macs FILE: of it, as profile counts them
macs()
{
    "$inferometer" profile "$1" --dim n=1 --dim h=32 --dim w=48 --json counted.json --quiet >/dev/null || return 1
    "$python" -c 'import json; print(json.load(open("counted.json"))["flops"]["total_macs"])'
}

counts_regions()
{
    local expected found
    expected=$(macs plain.onnx) && found=$(macs "$1") && echo "$expected $found" && [[ $expected -gt 0 && $expected == "$found" ]]
}

# knows_sizes FILE: a worker knows what each of its tensors takes, those within regions, too
knows_sizes()
{
    "$inferometer" profile "$1" --dim n=1 --dim h=32 --dim w=48 --device onnxruntime:CPU --threads 1 --runs 2 --warmup 1 --output out \
        --json sizes.json --quiet >/dev/null || return 1
    "$python" - <<'END'
import json
graph = json.load(open("sizes.json"))["cases"][0]["measurement"]["memory"]["graph"]
print(graph)
assert graph["n_unknown"] == 0 and graph["parameter_bytes"] > 0
END
}

# shows ISA FILE: which algorithms run here, in those kernels
shows()
{
    IFM_CONV_ISA=$1 "$inferometer" tune --show "$2" --json shown.json && "$python" - <<'END'
import json
assert all(row["here"] and row["implementation"] for row in json.load(open("shown.json"))["layers"])
END
}

check 'it needs the C library alone' needs_c_alone
check 'it exports RegisterCustomOps alone' exports_one
pinned=$(sed -n 's/^onnxruntime==\([0-9]*\.[0-9]*\)\..*/\1/p' "$root/setup/wheels.txt")
if ! "$python" -c 'import ensurepip, numpy, onnx' 2>said; then
    skip 'in Python' "$(tail -1 said)"
elif ! install "$pinned" --no-index --find-links "$root/.deps/wheelhouse" >pip.log 2>&1; then
    skip "onnxruntime $pinned" "$(tail -1 pip.log)"
else
    tuned=()
    "venv-$pinned/bin/python" "$here/ops.py" --plain plain.onnx
    for isa in '' avx2 portable; do
        check "a model is tuned, ${isa:-any}" tune "$isa" "tuned-${isa:-any}.onnx"
        tuned+=("tuned-${isa:-any}.onnx")
        check "its regions count, ${isa:-any}" counts_regions "tuned-${isa:-any}.onnx"
        check "its sizes are known, ${isa:-any}" knows_sizes "tuned-${isa:-any}.onnx"
        for other in '' avx2 portable; do
            check "it is shown, ${isa:-any}, for ${other:-any}" shows "$other" "tuned-${isa:-any}.onnx"
        done
    done
    for isa in '' avx2 portable; do
        runs "$pinned" "$isa"
    done
fi
oldest=1.$(sed -n 's/^#define IFM_OPS_API_VERSION //p' "$root/src/ops/ops.h")
for version in $(minors "$pinned") "$oldest"; do
    if [[ ! -d venv-$pinned ]] || ! install "$version" >pip.log 2>&1; then
        skip "onnxruntime $version" 'pip reaches no index'
    else
        runs "$version" ''
    fi
done
finish
