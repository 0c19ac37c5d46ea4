#!/usr/bin/env bash
# setup/install where it cannot or must not go on: each with one clear message. Nothing is fetched or installed here.
. "$(dirname "$0")/tap.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export IFM_DEPS=$scratch/deps
unset IFM_ONNXRUNTIME_INCLUDE

# The commands that set-up may use, less those that a test takes away or replaces.
mkdir "$scratch/bin"
for tool in bash sed grep cat dirname realpath mktemp mkdir rm mv cp ln ls flock id uname python3 sudo apt-get apt-cache dpkg-query; do
    path=$(type -P "$tool") && ln -s "$path" "$scratch/bin/$tool"
done

# replace TOOL LINE...: a script in its place.
replace()
{
    rm -f "$scratch/bin/$1"
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

# fails_with STATUS PATTERN COMMAND...: it exits so, and its last line, the only one on standard error, matches.
fails_with()
{
    local status=0 want=$1 pattern=$2
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
    cat "$scratch/out" "$scratch/err"
    [[ $status -eq $want && $(wc -l <"$scratch/err") -eq 1 ]] && grep -q -- "$pattern" "$scratch/err"
}

fresh_path() { env PATH="$scratch/bin" "$root/setup/install" "$@"; }

check 'an unknown group' fails_with 1 'no group \[nonsense\]' "$root/setup/install" nonsense

replace dpkg-query 'echo installed make'
replace id 'echo 1000'
rm -f "$scratch/bin/sudo"
check 'neither root nor sudo: the missing packages are named' \
    fails_with 1 'neither root nor sudo.* gcc .*libsqlite3-dev' fresh_path
replace sudo 'exit 1'
check 'a sudo that refuses: the missing packages are named' fails_with 1 'sudo does not let us.* gcc ' fresh_path
check 'those of another group are not' bash -c '! PATH='"$scratch/bin"' "$1/setup/install" 2>&1 | grep -q clang-tidy' - "$root"
rm "$scratch/bin/dpkg-query"
check 'no Debian: the packages are named' fails_with 1 'by hand.* gcc .*libsqlite3-dev' fresh_path

# All packages seem to be there; the wheel that pip finds is not the one pinned.
replace dpkg-query "sed -n 's/^\([a-z0-9.+-]*\).*/installed \1/p' '$root/setup/packages.txt'"
mkdir "$scratch/wheels"
wheel=openvino-$(sed -n 's/^openvino==\([^ ]*\).*/\1/p' "$root/setup/wheels.txt")-0-cp311-cp311-manylinux_2_28_x86_64.whl
(cd "$scratch" && python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").writestr("openvino/x", "y")' "wheels/$wheel")
wrong_wheel()
{
    ! env PATH="$scratch/bin" PIP_NO_INDEX=1 PIP_FIND_LINKS="$scratch/wheels" PIP_CONFIG_FILE=/dev/null \
        "$root/setup/install" >"$scratch/out" 2>&1 || return 1
    cat "$scratch/out"
    grep -q 'setup: the wheel of openvino==.* is not what setup/wheels.txt says' "$scratch/out" && [[ ! -e $IFM_DEPS/openvino ]]
}
if [[ $(uname -m) == x86_64 ]] && /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
    check 'a wheel of other content is refused, nothing is left of it' wrong_wheel
else
    skip 'a wheel of other content is refused' 'no pip, or not x86_64'
fi

# What a finished set-up left is recognised; the header's folder that the user names is checked.
for name in openvino onnxruntime onnx; do
    folder=$IFM_DEPS/$name
    [[ $name != onnxruntime ]] || folder=$folder/lib
    mkdir -p "$folder"
    grep "^$name==" "$root/setup/wheels.txt" >"$folder/.stamp"
done
mkdir "$scratch/old" "$scratch/new"
echo '#define ORT_API_VERSION 22' >"$scratch/old/onnxruntime_c_api.h"
echo '#define ORT_API_VERSION 24' >"$scratch/new/onnxruntime_c_api.h"
check 'a named header that is too old' fails_with 1 'IFM_ONNXRUNTIME_INCLUDE=.*/old: .*API 23' \
    env IFM_ONNXRUNTIME_INCLUDE="$scratch/old" PATH="$scratch/bin" "$root/setup/install"
check 'a named header that is not there' fails_with 1 'IFM_ONNXRUNTIME_INCLUDE=.*/none: ' \
    env IFM_ONNXRUNTIME_INCLUDE="$scratch/none" PATH="$scratch/bin" "$root/setup/install"
check 'a named header that serves' env IFM_ONNXRUNTIME_INCLUDE="$scratch/new" PATH="$scratch/bin" "$root/setup/install"
all_there() { fresh_path >"$scratch/out" && cat "$scratch/out" && [[ $(grep -c 'already there' "$scratch/out") -eq 5 ]]; }
check 'the second time all is already there' all_there
sed -i 's/==/==0./' "$IFM_DEPS/onnx/.stamp"
other_version() { ! env PIP_NO_INDEX=1 PIP_FIND_LINKS="$scratch/none" PATH="$scratch/bin" "$root/setup/install" 2>&1 | grep 'onnx: already there'; }
check 'what was made from another version is not taken for it' other_version
finish
