#!/usr/bin/env bash
# That the shared library exports what the public headers declare and nothing else, that inferometer.h includes them all, that
# each header compiles by itself and all of them together, so that no type name has two meanings; and that tools/check-exports
# finds each kind of violation.   test-exports.sh LIBRARY
. "$(dirname "$0")/tap.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
library=$1

build=$(cd "$(dirname "$library")" && pwd)
headers=$(find "$root/include/inferometer" "$root/src" -name '*.h' ! -name '*-template.h' | sort)
flags="-I$root/include -I$root/src -I$build -I$build/src/onnx -isystem $root/.deps/onnxruntime/include -isystem $root/.deps/openvino/include"
flags+=" $(pkg-config --cflags gio-unix-2.0 jansson libprotobuf-c sqlite3 yaml-0.1) $(find "$root/src" -type d -printf ' -I%p')"
# compiles: what stands on standard input.
compiles()
{
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -DG_LOG_DOMAIN='"t"' -fsyntax-only -Wall -Werror $flags -x c -
}

alone()
{
    local header
    for header in $headers; do
        printf '#include "%s"\n' "$header" | compiles || { echo "$header"; return 1; }
    done
}

together()
{
    # shellcheck disable=SC2086
    printf '#include "%s"\n' $headers | compiles
}

# A program of a user has the public headers and what pkg-config says of the library.
alone_for_users()
{
    local header
    for header in "$root"/include/inferometer/*.h; do
        # shellcheck disable=SC2046
        printf '#include <inferometer/%s>\n' "${header##*/}" |
            "${CC:-cc}" -std=gnu11 -fsyntax-only -Wall -Werror -I"$root/include" $(pkg-config --cflags glib-2.0 jansson) -x c - || { echo "$header"; return 1; }
    done
}

# made INTERNAL DECLARED INCLUDED: a library with ifm_one(), INTERNAL beside it, a header that declares DECLARED too.
made()
{
    local tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree/include/inferometer"
    printf 'int ifm_one(void) { return 1; }\n%s\n' "$1" >"$tree/one.c"
    printf '#pragma once\nIFM_BEGIN_DECLS\nint ifm_one(void);\n%s\nIFM_END_DECLS\n' "$2" >"$tree/include/inferometer/one.h"
    printf '%s\n' "$3" >"$tree/include/inferometer/inferometer.h"
    "${CC:-cc}" -shared -fPIC "$tree/one.c" -o "$tree/libone.so" || return
    "$root/tools/check-exports" "$tree/libone.so" "$tree"
}

# refuses LINE ARGUMENTS: made ARGUMENTS is refused with LINE.
refuses()
{
    local line=$1
    shift
    ! made "$@" >"$scratch/out" || { echo accepted; return 1; }
    cat "$scratch/out"
    grep -qxF -- "$line" "$scratch/out"
}

all='#include <inferometer/one.h>'
check 'the library exports what the headers declare' "$root/tools/check-exports" "$library"
check 'every public header compiles by itself' alone_for_users
check 'every header of the sources compiles by itself' alone
check 'all headers compile together' together
check 'a made-up library that is right is accepted' made '' '' "$all"
check 'a symbol that is not declared' refuses 'two is exported, but no public header declares it' 'int two;' '' "$all"
check 'a function that is not exported' refuses 'ifm_two is declared by a public header, but not exported' '' \
    'double ifm_two(void);' "$all"
check 'a header that is not included' refuses 'inferometer.h does not include one.h' '' '' ''
finish
