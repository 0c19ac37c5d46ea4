#!/usr/bin/env bash
# That tools/check-layers finds each kind of violation, at its file and line, and nothing where there is none.
. "$(dirname "$0")/tap.sh"
checker=$(dirname "$0")/../../tools/check-layers

# write FILE LINE...: a file of the made-up tree.
write()
{
    mkdir -p "$(dirname "$scratch/tree/$1")"
    printf '%s\n' "${@:2}" >"$scratch/tree/$1"
}

fresh_tree()
{
    rm -rf "$scratch/tree"
    write src/rooms.txt '# the rooms' 'base:' 'onnx: base' 'store: base onnx' 'cli: store'
    write include/inferometer/error.h '#pragma once'
    write include/inferometer/model.h '#pragma once' '#include <inferometer/error.h>'
    write include/inferometer/inferometer.h '#pragma once' '#include <inferometer/model.h>'
    write src/base/base.h '/* Shared with other rooms: texts. */' 'void ifm_text(void);'
    write src/base/base.c '#include "base.h"' 'void ifm_text(void)' '{' '}'
    write src/onnx/onnx.h '/* Shared with other rooms: models. */' '#include <base/base.h>'
    write src/onnx/onnx-private.h '#pragma once'
    write src/onnx/scan.c '#include "onnx-private.h"' '#include "onnx.pb-c.h"' '#include <onnx/onnx.h>' '#include <yaml.h>' '/* ifm_store_open() */'
    write src/store/store.h '/* Shared with other rooms: records. */' '#include <inferometer/model.h>'
    write src/store/store.c '#include <store/store.h>' '#include <onnx/onnx.h>' 'int ifm_store_open(int how)' '{' '    ifm_text();' '}'
    write src/store/sql/sql-private.h '#include "../store-private.h"'
    write src/store/sql/sql.c '#include "sql-private.h"' '#include "../store-private.h"'
    write src/store/store-private.h '#pragma once'
    write src/cli/main.c '#include <store/store.h>' '#include <inferometer/inferometer.h>'
    write tests/onnx/test-scan.c '#include "onnx/onnx-private.h"' '#include <store/store.h>' '#include <onnx/onnx-private.h>'
}

accepts() { fresh_tree; "$checker" "$scratch/tree"; }

writes()
{
    fresh_tree
    write docs/architecture.md '<!-- rooms -->' '<!-- /rooms -->'
    "$checker" --write "$scratch/tree" && "$checker" "$scratch/tree" && grep -Fxq 'store  x  x  3' "$scratch/tree/docs/architecture.md"
}

# finds PLACE FILE LINE...: with the file added, it fails and names the place.
finds()
{
    fresh_tree
    write "${@:2}"
    ! "$checker" "$scratch/tree" >"$scratch/found" || { echo "accepted"; return 1; }
    cat "$scratch/found"
    grep -q "^$1: " "$scratch/found"
}

check 'a tree in order is accepted' accepts
check 'a room that includes one below it' finds src/onnx/bad.c:2 src/onnx/bad.c '' '#include <store/store.h>'
check 'a room that calls one below it' finds src/onnx/bad.c:2 src/onnx/bad.c '' 'int x = ifm_store_open(1);'
check 'a public header that includes one that is not' \
    finds include/inferometer/model.h:1 include/inferometer/model.h '#include <store/store.h>'
check 'the whole library in a room' finds src/onnx/bad.c:1 src/onnx/bad.c '#include <inferometer/inferometer.h>'
check 'a private header of another room, as if it were shared' finds src/store/bad.c:1 src/store/bad.c '#include <onnx/onnx-private.h>'
check 'the same from a test' finds tests/store/test-bad.c:1 tests/store/test-bad.c '#include <onnx/onnx-private.h>'
check 'a private header of another room, by path' finds src/store/bad.c:1 src/store/bad.c '#include "onnx/onnx-private.h"'
check 'a private header of another room, by name' finds src/store/bad.c:1 src/store/bad.c '#include "onnx-private.h"'
check 'a private header of another room, by ..' finds src/store/bad.c:1 src/store/bad.c '#include "../onnx/onnx-private.h"'
check 'the generated header outside its room' finds src/cli/bad.c:1 src/cli/bad.c '#include "onnx.pb-c.h"'
check "a subfolder's private header in its room" finds src/store/bad.c:1 src/store/bad.c '#include "sql/sql-private.h"'
check "a subfolder's private header in another subfolder" \
    finds src/store/rows/bad.c:1 src/store/rows/bad.c '#include "../sql/sql-private.h"'
check "a subfolder's private header in another room" finds src/onnx/bad.c:1 src/onnx/bad.c '#include "../store/sql/sql-private.h"'
check "another room's private header in a subfolder" finds src/store/sql/bad.c:1 src/store/sql/bad.c '#include "../../onnx/onnx-private.h"'
check 'another room seen from a test' finds tests/store/test-bad.c:1 tests/store/test-bad.c '#include "onnx/onnx-private.h"'
check 'a folder that is no room' finds src/misc/bad.c:1 src/misc/bad.c ''
check 'a row with a room that does not stand above it' finds src/rooms.txt:3 src/rooms.txt 'base:' 'onnx: base' 'store: base onnx onnx-more' 'cli: store'
check 'an edge that no file needs' finds src/rooms.txt:4 src/rooms.txt 'base:' 'onnx: base' 'store: base onnx' 'cli: store onnx'
check 'a page that shows another table' finds docs/architecture.md:1 docs/architecture.md '<!-- rooms -->' '<!-- /rooms -->'
check 'a page without a place for the table' finds docs/architecture.md:1 docs/architecture.md '# Rooms'
check 'the table is put into the page' writes
check 'an include with spaces in it' finds src/onnx/bad.c:1 src/onnx/bad.c '  #  include  <store/store.h>'
check 'the real tree is in order' "$checker"
finish
