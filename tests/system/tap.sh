# tap.sh: for test scripts: `check NAME COMMAND...` is one TAP test; `skip NAME REASON`; `finish` prints the plan.
# What a failing command printed follows as a comment. $scratch is a private folder, gone at the end.
set -uo pipefail
n_tests=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check()
{
    local name=$1
    shift
    n_tests=$((n_tests + 1))
    if "$@" >"$scratch/check.log" 2>&1; then
        echo "ok $n_tests - $name"
    else
        echo "not ok $n_tests - $name"
        sed 's/^/# /' "$scratch/check.log"
    fi
}

skip()
{
    n_tests=$((n_tests + 1))
    echo "ok $n_tests - $1 # SKIP $2"
}

# prints PATTERN COMMAND...: it succeeds and prints something that matches; all of it is in ./printed.
prints()
{
    local pattern=$1
    shift
    "$@" >printed 2>&1 || { echo "exit status $?"; cat printed; return 1; }
    cat printed
    grep -q -- "$pattern" printed
}

finish() { echo "1..$n_tests"; }
