#!/usr/bin/env bash
# What tools/check-docs finds in a copy of the documents: the Chinese README has the commands and the shape of the English one.
. "$(dirname "$0")/tap.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir "$scratch/copy" && cd "$scratch/copy" || exit 1
ln -s "$root"/* . && rm README.md README.zh-CN.md tools && mkdir tools && cp "$root"/tools/* tools/ && cp "$root"/README*.md .

# found WHAT SED: what it says where README.zh-CN.md was changed so.
found()
{
    sed "$2" "$root/README.zh-CN.md" >README.zh-CN.md
    ! cmp "$root/README.zh-CN.md" README.zh-CN.md && ! tools/check-docs >log && cat log && grep -q "$1" log
}

check 'the documents name what is there' "$root/tools/check-docs"
check 'another command in the Chinese README is found' found 'its commands are not those' 's/inferometer devices/inferometer machines/'
check 'another output is found' found 'its outputs are not those' 's/^trust /trusted /'
check 'another link is found' found 'its links are not those' 's/docs.zoo.md/docs\/graphs.md/'
check 'a paragraph that is missing is found' found 'its shape are not those' '/^- 输出/d'
finish
