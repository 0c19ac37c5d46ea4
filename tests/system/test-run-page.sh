#!/usr/bin/env bash
# test-run-page.sh PROGRAM: What tools/run-page makes of a page: it fails where a command fails or the page shows what is not
# printed, and writes what is printed.
. "$(dirname "$0")/tap.sh"
program=$(realpath "$1")
run_page=$(cd "$(dirname "$0")/../.." && pwd)/tools/run-page

cat >"$scratch/page.md" <<'END'
```sh
seq 5 >numbers; cat numbers; inferometer --version >version
```

```text first=2 last=1
old
```

Words, and `code`.

    false # only shown

```python
lines = len(open("numbers").readlines())
```

```python
print(lines * 2)
```

```text
```
END
cp "$scratch/page.md" "$scratch/written.md"
{ cat "$scratch/page.md" && printf '```sh\nfalse\n```\n'; } >"$scratch/fails.md"
{ cat "$scratch/page.md" && printf '```sh\ntrue\n```\n\n```text\nshown\n```\n'; } >"$scratch/silent.md"
cp "$scratch/fails.md" "$scratch/kept.md"

passes() { "$run_page" "$program" "$scratch/page.md" >"$scratch/log" && grep -q '^1\.\.3$' "$scratch/log" && ! grep '^not ok' "$scratch/log"; }
faulty() { ! "$run_page" "$program" "$1" >"$scratch/log" && grep '^not ok 4 ' "$scratch/log"; }
writes()
{
    "$run_page" --write "$program" "$scratch/written.md" &&
        diff <(sed -n '/^```text/,/^```$/p' "$scratch/written.md") \
            <(printf '```text first=2 last=1\n1\n2\n…\n5\n```\n```text\n10\n```\n') &&
        diff <(grep -c . "$scratch/written.md") <(echo 20)
}
keeps() { ! "$run_page" --write "$program" "$scratch/kept.md" && cmp "$scratch/fails.md" "$scratch/kept.md"; }
printf '```sh\necho "nothing  is"; echo found; exit 1\n```\n' >"$scratch/answers.md"
sed 's/exit 1/exit 2/' "$scratch/answers.md" >"$scratch/breaks.md"
answers() { "$run_page" --answer 'nothing is found' "$program" "$scratch/$1.md" >"$scratch/log"; }
unanswered() { ! answers "$1" && ! "$run_page" --answer 'all is found' "$program" "$scratch/answers.md" >"$scratch/log"; }
smaller() { "$run_page" --replace 'seq 5' 'seq 3' --keep numbers "$scratch/out" "$program" "$scratch/page.md" && diff "$scratch/out" <(seq 3); }

# said NOW SHOWN: a page that shows SHOWN of a command that prints NOW.
said()
{
    printf '%s\n' "$1" >"$scratch/now"
    printf '```sh\ncat %s\n```\n\n```text%s\n%s\n```\n' "$scratch/now" "${3:-}" "$2" >"$scratch/said.md"
    "$run_page" "$program" "$scratch/said.md"
}
# stale WHAT NOW SHOWN [INFO]
stale() { ! said "$2" "$3" "${4:-}" >"$scratch/log" && cat "$scratch/log" && grep -q "stale: .*'$1'" "$scratch/log"; }

now='model  f32
A takes 1.05 times the time of B, 1.01 to 1.09 with 95 % confidence
trust     usable, with care: other processes used 12 % of the processors

device            median   stop reason
──────────────────────────────────────
openvino:CPU@0  3.616 ms  time budget'
other=${now//1.05/0.97}
other=${other//3.616 ms/9.1 µs}
other=${other//openvino:CPU@0/onnxruntime:CPU@1}

check 'other figures, units and names are not stale' said "$now" "$other"
check 'a line that may be said of other data is not stale' said "$now" "${now/other processes used 12 % of the processors/good enough to act on}"
check 'nor is another processor, nor what a busy machine adds' said $'processor GenuineIntel, family 6, Intel(R) Xeon(R)\ndisturbed   9 rows' \
    'processor AuthenticAMD, family 26, AMD EPYC'
check 'a changed word is stale' stale certainty "$now" "${now/confidence/of certainty}"
check 'a changed head of a table is stale' stale 'ended so' "$now" "${now/stop reason/ended so}"
check 'a label that the page lacks is stale' stale trust "$now" "$(grep -v trust <<<"$now")"
check 'what is behind the first lines is not compared' said "$now" "$(head -1 <<<"$now")
…" ' first=1'
check 'nor is what is behind them where fewer lines come before it' said $'model  f32\n\nkernel  8\n\nend\nend' \
    $'model  f32\nwarning: the latency drifts: +7.7 % over the series\n\n…' ' first=3'
check 'commands run in one folder, and what is only indented does not' passes
check 'a command that fails is a fault' faulty "$scratch/fails.md"
check 'an output that is not there is a fault' faulty "$scratch/silent.md"
check '--write puts outputs in, shortened where the page says so' writes
check '--write leaves a page alone whose command fails' keeps
check '--answer: a command that says so and ends with status 1 is no fault' answers answers
check 'with another status, or without these words, it is one' unanswered breaks
check '--replace makes a run smaller, --keep copies a file' smaller
finish
