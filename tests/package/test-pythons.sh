#!/usr/bin/env bash
# test-pythons.sh DIST: the wheel in DIST, installed with pip from its index into an environment of each Python 3.10 to 3.13
# that is here, and used there while the sources cannot be seen. Python 3.10 gets the oldest tested runtimes, the others
# the newest that there are for them. Debian's Python, which has torch, pandas and Jupyter (setup/install check), runs scripts and
# notebooks as well. What is not here is skipped.
. "$(dirname "$0")/../system/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
wheel=$(realpath "$1"/inferometer-[0-9]*.whl)
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV INFEROMETER IFM_DATA_DIR IFM_WORKER IFM_ONNXRUNTIME_LIBRARY IFM_OPENVINO_LIBRARY
cp -r "$here/hidden.py" "$wheel" "$root/tools/run-notebook" "$root"/docs/notebooks/{gnn,profile}.ipynb "$root/tests/python/scripts" \
    "$scratch" && cd "$scratch" || exit 1

# find_python VERSION: on PATH, or among those that pyenv built; one that only starts another is none.
find_python()
{
    local file
    for file in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python3 "$(command -v "python$1")" /usr/bin/python3; do
        [[ -x $file && $("$file" -c 'import ensurepip, sys, venv; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) == "$1" ]] &&
            echo "$file" && return
    done
    return 1
}

# tested: "openvino==2025.1.* onnxruntime==1.23.*": the oldest of setup/tested.txt.
tested() { sed '/^#/d' "$root/setup/tested.txt" | while read -r name oldest _; do echo "$name==$oldest.*"; done; }

installs()
{
    # shellcheck disable=SC2046
    "$1" -m venv "venv$2" && "venv$2/bin/pip" install -q --disable-pip-version-check ./*.whl $([[ $2 != 3.10 ]] || tested) &&
        "venv$2/bin/pip" list --disable-pip-version-check | grep -iE '^(openvino|onnxruntime) '
}

hide() { "$scratch/venv$version/bin/python" "$scratch/hidden.py" "$root" -- env HOME="$scratch/home" PATH="$scratch/venv$version/bin:/usr/bin:/bin" "$@"; }
plain() { env HOME="$scratch/home" PATH="$scratch/venv$version/bin:/usr/bin:/bin" "$@"; }

# The README's lines, and the same from Python.
is_used()
{
    $hide inferometer devices >devices && cat devices && ! grep warning devices &&
        $hide inferometer zoo export small-cnn -o my.onnx && $hide inferometer profile my.onnx --runs 5 --no-peak >/dev/null &&
        $hide python -c '
import inferometer
for device in "openvino:CPU", "onnxruntime:CPU":
    result = inferometer.profile("my.onnx", devices=device, runs=5, no_peak=True)
    assert result.json["cases"][0]["outcome"] == "ok", result.json
    print(device, result.summary.verdict)'
}

# Debian's Python with its packages, and the wheel with the runtimes that setup/install keeps.
installs_beside_debian()
{
    /usr/bin/python3 -m venv --system-site-packages venv-debian && venv-debian/bin/pip install -q --disable-pip-version-check \
        --no-index --find-links "$root/.deps/wheelhouse" ./inferometer-[0-9]*.whl
}

# It is the package of the wheel, and the sources are nowhere to be found.
is_the_wheels()
{
    $hide python -c "
import os, inferometer
print(inferometer.__file__)
assert inferometer.__file__.startswith('$scratch/venv-debian/'), inferometer.__file__
assert '$hide' == 'plain' or not os.listdir('$root'), os.listdir('$root')"
}

measures_callable()
{
    $hide python -c '
import inferometer
found = inferometer.measure(lambda: sum(range(1000)), time_budget="200ms")
print(found.summary.verdict)
assert found.json["case"]["subject_name"] == "<lambda>" and found.median_ns > 0, found.json'
}

runs_script() { mkdir -p "run-$1" && (cd "run-$1" && $hide python "$scratch/scripts/$1.py" trace.json); }

runs_notebook() { $hide python run-notebook - "$1.ipynb"; }

for version in 3.10 3.11 3.12 3.13; do
    hide=hide
    if ! python=$(find_python $version); then
        skip "Python $version" 'not here'
    elif ! "$python" -m pip download -q --no-deps --no-binary=:none: -d . packaging >pip.log 2>&1; then
        skip "Python $version" 'pip reaches no index'
    else
        rm -f packaging*.whl
        check "Python $version: pip installs the wheel and its runtimes" installs "$python" $version
        echo "# $("venv$version/bin/pip" list --disable-pip-version-check | grep -iE '^(openvino|onnxruntime) ' | paste -s -d ' ')"
        hide true 2>said || hide=plain
        check "Python $version: both runtimes measure, $hide" is_used
    fi
done

version=-debian
hide=hide
if ! /usr/bin/python3 -c 'import ensurepip, ipykernel, nbconvert, onnx, pandas, torch' 2>said; then
    skip 'scripts and notebooks with the wheel' "$(tail -1 said)"
else
    check "Debian's Python: pip installs the wheel beside torch and pandas" installs_beside_debian
    hide true 2>said || hide=plain
    check "Debian's Python: the package is the wheel's, $hide" is_the_wheels
    check 'a callable is measured with the wheel' measures_callable
    for script in scripts/*.py; do
        check "$script with the wheel" runs_script "$(basename "$script" .py)"
    done
    for notebook in gnn profile; do
        check "the notebook $notebook with the wheel" runs_notebook $notebook
    done
fi
finish
