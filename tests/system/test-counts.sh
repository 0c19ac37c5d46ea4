#!/usr/bin/env bash
# That tools/count-tests counts single tests, prints every skip with its reason, and never calls a bad run good.
. "$(dirname "$0")/tap.sh"
counter=$(dirname "$0")/../../tools/count-tests

# counts STATUS PATTERN LOG-LINE...
counts()
{
    local status=0 want=$1 pattern=$2
    shift 2
    printf '%s\n' "$@" >"$scratch/log"
    "$counter" "$scratch/log" >"$scratch/out" || status=$?
    cat "$scratch/out"
    [[ $status -eq $want ]] && grep -qx -- "$pattern" "$scratch/out"
}

good='{"name": "a", "result": "OK", "returncode": 0, "stdout": "TAP version 13\n# random seed\nok 1 /x\nok 2 /y # SKIP no GPU here\nok 3 - z\n1..3\n"}'
bad='{"name": "b", "result": "FAIL", "returncode": 1, "stdout": "ok 1 /x\nnot ok 2 /y\n1..2\n"}'
crash='{"name": "c", "result": "ERROR", "returncode": -11, "stdout": "ok 1 /x\n"}'
hang='{"name": "d", "result": "TIMEOUT", "returncode": -15, "stdout": ""}'
none='{"name": "e", "result": "OK", "returncode": 0, "stdout": "hello\n"}'
whole='{"name": "f", "result": "SKIP", "returncode": 0, "stdout": "1..0 # SKIP needs a server\n"}'
sets='{"name": "g", "result": "OK", "returncode": 0, "stdout": "# instruction sets: avx2, portable\nok 1 /x\n1..1\n"}'
check 'passed and skipped' counts 0 '2 passed, 0 failed, 1 skipped' "$good"
check 'the reason of a skip' counts 0 'SKIP a /y: no GPU here' "$good"
check 'a failed test, named' counts 1 'FAIL b /y' "$good" "$bad"
check 'with why' counts 1 '     # wrong: 1' "$good" "${bad/not ok 2 \/y/not ok 2 \/y\\n# wrong: 1}"
check 'programs add up' counts 1 '3 passed, 1 failed, 1 skipped' "$good" "$bad"
check 'a crash is a failed test' counts 1 '1 passed, 1 failed, 0 skipped' "$crash"
check 'so is a time-out' counts 1 'FAIL d: timeout, exit status -15' "$hang"
check 'and a program that printed no result' counts 1 'FAIL e: printed no test result' "$none"
check 'a program skipped whole, with its reason' counts 0 'SKIP f: needs a server' "$good" "$whole"
check 'the instruction sets that ran' counts 0 'RAN g: instruction sets: avx2, portable' "$sets"
check 'nothing run is not success' counts 1 '0 passed, 0 failed, 0 skipped' ''
check 'nor is a missing log' bash -c '! "$1" /no/such/log' - "$counter"
finish
