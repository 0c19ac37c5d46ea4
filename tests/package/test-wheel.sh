#!/usr/bin/env bash
# test-wheel.sh BUILD: the wheels of a build, installed into a Python environment of their own and used there while the
# sources, the build and the system's copies of all that the wheel brings cannot be seen.
. "$(dirname "$0")/../system/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "$1")
fake=${IFM_TEST_FAKE_VERSION:-}
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV INFEROMETER IFM_DATA_DIR IFM_WORKER IFM_ONNXRUNTIME_LIBRARY IFM_OPENVINO_LIBRARY \
    IFM_KERNEL_CACHE LD_LIBRARY_PATH
cd "$scratch" || exit 1
python=/usr/bin/python3
[[ -x $python ]] || python=python3
cp "$here/hidden.py" .

make_wheels() { "$root/tools/make-wheel" "$build" dist; }

is_named_for_all_pythons()
{
    ls dist
    [[ $(ls dist/inferometer-*.whl) =~ ^dist/inferometer-[0-9.]+-py3-none-manylinux_2_[0-9]+_x86_64.whl$ ]]
}

install_wheel()
{
    "$python" -m venv venv && venv/bin/pip install -q --disable-pip-version-check --no-index \
        --find-links "$root/.deps/wheelhouse" dist/inferometer-[0-9]*.whl && venv/bin/pip check
}

# Every library in the package takes each library it needs from beside it, but those of the C and C++ base system.
needs_no_other()
{
    local file other=0
    for file in "$package"/_root/{bin/inferometer,libexec/inferometer/inferometer-worker,lib/libinferometer.so.0,lib/private/*}; do
        readelf -d "$file" | grep -q '(RPATH)' || { echo "$file: no RPATH"; other=1; }
        ldd "$file" | grep ' => ' | grep -v " => $package/" |
            grep -vE '^\s*lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so' && { echo "^ of $file"; other=1; }
    done
    return $other
}

# hide COMMAND...: with everything hidden that the wheel brings, or that it was made of.
hide() { hide_with "$some_files" "$@"; }

# hide_with FILES COMMAND...
hide_with()
{
    local files=$1
    shift
    # shellcheck disable=SC2086
    venv/bin/python hidden.py "$root" "$build" --libraries $files -- env HOME="$scratch/home" \
        PATH="$scratch/venv/bin:/usr/bin:/bin" "$@"
}

plain() { env HOME="$scratch/home" PATH="$scratch/venv/bin:/usr/bin:/bin" "$@"; }

# The system's copies of oneDNN and of the libraries in the package: all of them, and those that Python itself does not need.
find_files()
{
    local own file
    all_files=$(ls "$package"/_root/lib/private | sed 's/-[0-9a-f]\{8\}\.so/.so/' | while read -r file; do
        ls "/usr/lib/x86_64-linux-gnu/$file" 2>/dev/null
    done; ls /usr/lib/x86_64-linux-gnu/libdnnl.so.*)
    own=$(ldd "$(realpath venv/bin/python)" "$(venv/bin/python -c 'import _ctypes; print(_ctypes.__file__.rpartition("/")[0])')"/*.so)
    some_files=$(for file in $all_files; do [[ $own == *"${file##*/} =>"* ]] || echo "$file"; done)
    [[ -n $some_files ]]
}

# fails STATUS PATTERN COMMAND...: it ends with that status and says that, in one line of standard error.
fails()
{
    local status=$1 pattern=$2 found=0
    shift 2
    "$@" >printed 2>said || found=$?
    cat said
    [[ $found -eq $status && $(wc -l <said) -eq 1 ]] && grep -q -- "$pattern" said
}

lists_runtimes()
{
    prints 'openvino:CPU *available' $hide inferometer devices &&
        grep -q 'onnxruntime:CPU *available' printed && grep -q 'simulated:meteor-lake/CPU *available' printed &&
        grep -q "(${package%/*}/openvino/libs/libopenvino_c.so" printed &&
        grep -q "(${package%/*}/onnxruntime/capi/libonnxruntime.so" printed && ! grep warning printed
}

profiles_both()
{
    $hide inferometer zoo export resnet18,size=64 -o my.onnx &&
        $hide inferometer profile matmul,m=64 -d openvino:CPU -d onnxruntime:CPU --runs 5 --warmup 2 --no-peak \
            --json result.json -o out.d && venv/bin/python -c '
import json
assert [case["outcome"] for case in json.load(open("result.json"))["cases"]] == ["ok", "ok"]'
}

# The command itself, with no copy of any library that it brings: neither Python nor the console script is there to help.
runs_alone()
{
    hide_with "$all_files" "$package/_root/bin/inferometer" profile my.onnx -d onnxruntime:CPU --runs 5 --no-peak
}

# What another program loads: its path from Python, and the one function that ONNX Runtime calls.
has_operators()
{
    prints "^$package/_root/lib/libinferometer_ops.so$" $hide python -c '
import ctypes, inferometer
print(inferometer.ops_library())
ctypes.CDLL(inferometer.ops_library()).RegisterCustomOps' && ! ldd "$package/_root/lib/libinferometer_ops.so" |
        grep ' => ' | grep -vE '^\s*lib(c|m|pthread)\.so\.6'
}

from_python()
{
    prints '^verdict: [a-zA-Z0-9]' $hide python -c '
import inferometer
result = inferometer.profile("my.onnx", devices="openvino:CPU", runs=5, no_peak=True)
print("verdict:", result.summary.verdict)
assert len(result.json["cases"]) == 1'
}

# The console script becomes the command: no other Python starts, of whatever `inferometer` is on PATH.
starts_one_process()
{
    mkdir -p counted
    echo 'open("pythons", "a").write("started\n")' >counted/sitecustomize.py
    : >pythons
    $hide env PYTHONPATH=counted inferometer --version && $hide env PYTHONPATH=counted inferometer devices || return
    [[ $(wc -l <pythons) -eq 2 ]] || { echo "two calls: $(wc -l <pythons) Pythons"; return 1; }
    $hide env PYTHONPATH=counted python -c 'import inferometer; inferometer.devices()' || return
    [[ $(wc -l <pythons) -eq 3 ]] || { echo "a call from Python: $(wc -l <pythons) Pythons"; return 1; }
    $hide env PYTHONPATH=counted INFEROMETER=venv/bin/inferometer timeout 20 inferometer --version || return
    [[ $(wc -l <pythons) -eq 4 ]] || { echo "of the variable: $(wc -l <pythons) Pythons"; return 1; }
}

# Of another environment, which this one sees: such as the system's.
finds_runtime_elsewhere()
{
    mkdir -p elsewhere && mv "${package%/*}/openvino" elsewhere/ || return
    prints "openvino .*($scratch/elsewhere/openvino/libs/" $hide env PYTHONPATH="$scratch/elsewhere" inferometer devices
    local status=$?
    mv elsewhere/openvino "${package%/*}/"
    return $status
}

loads_library()
{
    $hide python -c "
import ctypes
ctypes.CDLL('$package/_root/lib/libinferometer.so.0')
maps = open('/proc/self/maps').read()
assert '/private/libglib-2.0-' in maps and '/libglib-2.0.so' not in maps, maps"
}

# A library of the same name in LD_LIBRARY_PATH is not taken.
ignores_library_path()
{
    local file
    mkdir -p foreign
    for file in "$package"/_root/lib/private/*; do
        echo 'no library' >"foreign/${file##*/}"
    done
    $hide env LD_LIBRARY_PATH="$scratch/foreign" inferometer --version
}

warns_of_version()
{
    cp "$fake" fake.so && prints 'warning: onnxruntime 1.999.0 is outside the tested versions, ' \
        $hide env IFM_ONNXRUNTIME_LIBRARY="$scratch/fake.so" \
        IFM_TEST_REAL="$(ls "${package%/*}"/onnxruntime/capi/libonnxruntime.so.*)" inferometer devices
}

writes_no_home()
{
    $hide env HOME=/proc/none XDG_CACHE_HOME=/proc/none inferometer profile my.onnx -d onnxruntime:CPU --runs 3 --no-peak
}

has_licences()
{
    local info name
    info=$(echo "${package%/*}"/inferometer-[0-9]*.dist-info)
    ls "$info/licenses" >licences
    for name in LICENSE libglib2.0 libcurl libxgboost libgfortran common-LGPL-2.1; do
        grep -q "^$name" licences || { echo "no licence of $name"; return 1; }
    done
    [[ $(grep -c '^License-File: ' "$info/METADATA") -eq $(wc -l <licences) ]]
}

# oneDNN comes with a wheel of its own, which the command finds.
adds_onednn()
{
    local profile="inferometer profile resnet18,size=32 -d onnxruntime:CPU --conv gemm --runs 3 --no-peak --all --quiet"
    fails 4 'oneDNN is missing: .*(pip install inferometer-onednn)' $hide $profile &&
        venv/bin/pip install -q --disable-pip-version-check --no-index --no-deps dist/inferometer_onednn-*.whl &&
        prints 'sgemm of oneDNN' $hide $profile
}

says_which_wheel_is_missing()
{
    venv/bin/pip uninstall -q -y openvino onnxruntime &&
        fails 4 'openvino: not installed: pip install openvino (IFM_OPENVINO_LIBRARY names another)$' \
            $hide inferometer profile my.onnx -d openvino:CPU --quiet &&
        fails 4 'onnxruntime: not installed: pip install onnxruntime (' $hide inferometer profile my.onnx -d onnxruntime:CPU --quiet
}

leaves_nothing()
{
    venv/bin/pip uninstall -q -y inferometer inferometer-onednn && [[ ! -e venv/bin/inferometer ]] &&
        ! find "$package" -type f 2>/dev/null | grep .
}

check 'make wheel' make_wheels
check 'one wheel for all Pythons' is_named_for_all_pythons
check 'pip installs it, with the runtimes that it depends on' install_wheel
package=$(echo "$scratch"/venv/lib/python3*/site-packages/inferometer)
check 'no library of the system but the base' needs_no_other
check 'the licences of all that is in it' has_licences
find_files
hide=hide
if ! hide true 2>said; then
    hide=plain
    skip 'the sources and the system'"'"'s libraries are hidden' "$(head -1 said)"
fi
check 'it finds the runtimes in the packages beside it' lists_runtimes
check 'it measures a model on both runtimes' profiles_both
[[ $hide == plain ]] || check 'the command alone does, too' runs_alone
check 'from Python' from_python
check 'the operators of tuned models' has_operators
check 'a runtime of another environment' finds_runtime_elsewhere
check 'the console script starts one process' starts_one_process
check 'a program of another language loads the library with its own GLib' loads_library
check 'LD_LIBRARY_PATH does not replace its libraries' ignores_library_path
if [[ -e $fake ]]; then
    check 'a version that was not tested is a warning' warns_of_version
else
    skip 'a version that was not tested is a warning' "IFM_TEST_FAKE_VERSION names no library"
fi
check 'a home that cannot be written' writes_no_home
if [[ $hide == hide ]]; then
    check 'oneDNN from its own wheel' adds_onednn
else
    skip 'oneDNN from its own wheel' 'that of the system cannot be hidden'
fi
check 'a missing runtime names its package' says_which_wheel_is_missing
check 'pip uninstall leaves nothing' leaves_nothing
finish
