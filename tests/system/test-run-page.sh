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
smaller() { "$run_page" --replace 'seq 5' 'seq 3' --keep numbers "$scratch/out" "$program" "$scratch/page.md" && diff "$scratch/out" <(seq 3); }

check 'commands run in one folder, and what is only indented does not' passes
check 'a command that fails is a fault' faulty "$scratch/fails.md"
check 'an output that is not there is a fault' faulty "$scratch/silent.md"
check '--write puts outputs in, shortened where the page says so' writes
check '--write leaves a page alone whose command fails' keeps
check '--replace makes a run smaller, --keep copies a file' smaller
finish
