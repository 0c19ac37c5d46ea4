#!/usr/bin/env bash
# That tools/size counts lines that hold code and tokens, and that its check fails where a room outgrows its row.
. "$(dirname "$0")/tap.sh"
size=$(dirname "$0")/../../tools/size

fresh_tree()
{
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/src/base" "$scratch/tree/include" "$scratch/tree/tools"
    cat >"$scratch/tree/src/base/a.c" <<'EOF'
/* a comment of
 * two lines */
#include <stdio.h>

int main(void) // says a word
{
    puts("/* no comment */"); /* a comment */
    return 1 <<= 0.5e-3;
}
EOF
    printf '"""What it does."""\nx = "#"  # a comment\n' >"$scratch/tree/src/base/b.py"
    printf 'no code\n' >"$scratch/tree/src/base/meson.build"
    "$size" --set "$scratch/tree"
}

# Three lines of C and one of Python; the tokens of #include count, its line does not.
counts() { fresh_tree; "$size" "$scratch/tree" | tee "$scratch/found"; grep -Eq '^base +4 +27$' "$scratch/found"; }
is_within() { fresh_tree; "$size" --check "$scratch/tree"; }

# refused TEXT: the check fails and says so.
refused()
{
    ! "$size" --check "$scratch/tree" >"$scratch/found" || { echo "accepted"; return 1; }
    cat "$scratch/found"
    grep -q "$1" "$scratch/found"
}

outgrown() { fresh_tree; echo 'int more;' >>"$scratch/tree/src/base/a.c"; refused '^base: 5 lines hold code, tools/size-budget allows 4: '; }
new_room() { fresh_tree; mkdir "$scratch/tree/src/more"; echo 'int more;' >"$scratch/tree/src/more/a.c"; refused '^more: 1 '; }
lost_room() { fresh_tree; echo 'gone 10 why' >>"$scratch/tree/tools/size-budget"; refused 'no room gone$'; }
raised()
{
    outgrown && "$size" --set base 'it reads more' "$scratch/tree" && "$size" --check "$scratch/tree" &&
        grep -Eq '^base +5 it reads more$' "$scratch/tree/tools/size-budget"
}

check 'lines and tokens' counts
check 'a room within its row' is_within
check 'a room that outgrew its row' outgrown
check 'a room without a row' new_room
check 'a row without a room' lost_room
check 'a row that is raised' raised
check 'the real tree is within its budget' "$size" --check
finish
