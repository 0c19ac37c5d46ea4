#!/usr/bin/env bash
# test-deb.sh BUILD: the Debian package of a build, installed below a folder of its own and used there while the sources and
# the build cannot be seen.
. "$(dirname "$0")/../system/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(realpath "$1")
unset PYTHONPATH IFM_DATA_DIR IFM_WORKER IFM_ONNXRUNTIME_LIBRARY IFM_OPENVINO_LIBRARY IFM_KERNEL_CACHE LD_LIBRARY_PATH
cd "$scratch" || exit 1
python=/usr/bin/python3 # .deps/wheelhouse is for it
[[ -x $python ]] || python=python3
cp "$here/hidden.py" .
cp -r "$root/examples" .
usr=$scratch/target/usr
command -v dpkg-deb >/dev/null || { echo '1..0 # SKIP no dpkg-deb here'; exit; }

make_deb() { "$root/tools/make-deb" "$build" dist && dpkg-deb -I dist/inferometer_*.deb; }

# What dpkg-shlibdeps found is enough: all of it is installed here, and the programs find each library.
names_dependencies()
{
    local name
    dpkg-deb -f dist/inferometer_*.deb Depends | tee depends
    for name in libc6 libglib2.0-0 libcurl4 libjansson4; do
        grep -q "$name\(t64\)\? (>= " depends || { echo "not among the dependencies: $name"; return 1; }
    done
    ! ldd "$usr/bin/inferometer" "$usr/libexec/inferometer/inferometer-worker" "$usr"/lib/libinferometer.so.0 | grep 'not found'
}

# dpkg itself, into an empty system: its data base says what is installed, and takes it away again.
installs()
{
    mkdir -p target/var/lib/dpkg && touch target/var/lib/dpkg/status || return
    if [[ $(id -u) -eq 0 ]]; then
        dpkg --root="$scratch/target" --force-depends --install dist/inferometer_*.deb &&
            dpkg --root="$scratch/target" --verify inferometer
    else
        dpkg-deb -x dist/inferometer_*.deb target
    fi
}

has_files()
{
    local file missing=0
    for file in bin/inferometer libexec/inferometer/inferometer-worker lib/libinferometer.so lib/libinferometer.a lib/libinferometer_ops.so \
        include/inferometer/measure.h lib/pkgconfig/inferometer.pc share/inferometer/devices/meteor-lake.yaml \
        share/man/man1/inferometer.1.gz share/bash-completion/completions/inferometer \
        share/zsh/vendor-completions/_inferometer share/fish/vendor_completions.d/inferometer.fish \
        share/doc/inferometer/copyright share/doc/inferometer/changelog.gz; do
        [[ -e $usr/$file ]] || { echo "missing: $file"; missing=1; }
    done
    ! find target -name '*.pyc' -o -path '*/usr/local*' | grep . || missing=1
    return $missing
}

hide() { python3 hidden.py "$root" "$build" -- env HOME="$scratch/home" PATH="$usr/bin:/usr/bin:/bin" "$@"; }
plain() { env HOME="$scratch/home" PATH="$usr/bin:/usr/bin:/bin" "$@"; }

says_how_to_get_runtimes()
{
    prints "openvino: not installed: pip install --target $usr/lib/inferometer openvino (" $hide inferometer devices &&
        grep -q 'simulated:meteor-lake/CPU *available' printed
}

# As the package's description says.
gets_runtimes()
{
    "$python" -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-index --no-deps \
        --find-links "$root/.deps/wheelhouse" --target "$usr/lib/inferometer" openvino onnxruntime &&
        prints 'openvino:CPU *available' $hide inferometer devices && grep -q 'onnxruntime:CPU *available' printed
}

profiles_both()
{
    prints 'openvino:CPU' $hide inferometer profile matmul,m=64 -d openvino:CPU -d onnxruntime:CPU --warmup 2 --runs 5 --no-peak
}

reads_manual()
{
    man --warnings -l "$usr/share/man/man1/inferometer.1.gz" >manual 2>warnings && [[ ! -s warnings ]] && grep -q inferometer manual
}

completes()
{
    bash -c '. "$1"; COMP_WORDS=(inferometer devi); COMP_CWORD=1; COMP_LINE="inferometer devi"; COMP_POINT=16
        name=$(complete -p inferometer | sed "s/.*-F \([^ ]*\).*/\1/"); $name inferometer devi inferometer; printf "%s\n" "${COMPREPLY[@]}"' \
        - "$usr/share/bash-completion/completions/inferometer" | grep -qx 'devices *'
}

# The pkg-config file is the package's, but for the folder below which it lies here.
compiles_example()
{
    mkdir -p pkgconfig && grep -qx 'prefix=/usr' "$usr/lib/pkgconfig/inferometer.pc" &&
        sed "s|^prefix=.*|prefix=$usr|" "$usr/lib/pkgconfig/inferometer.pc" >pkgconfig/inferometer.pc || return
    # shellcheck disable=SC2046
    PKG_CONFIG_PATH=pkgconfig ${CC:-cc} -Wall -Werror examples/measure-callback.c -o example \
        $(PKG_CONFIG_PATH=pkgconfig pkg-config --cflags --libs inferometer) && prints '"median": [0-9]' $hide ./example
}

removes()
{
    rm -rf "$usr/lib/inferometer"
    dpkg --root="$scratch/target" --force-depends --remove inferometer && ! find target/usr -type f | grep .
}

check 'make deb' make_deb
check 'dpkg installs it' installs
check 'everything is in its place' has_files
check 'its dependencies are those of its programs' names_dependencies
hide=hide
if ! hide true 2>said; then
    hide=plain
    skip 'the sources are hidden' "$(head -1 said)"
fi
check 'without runtimes it says how to get them' says_how_to_get_runtimes
check 'that brings them' gets_runtimes
check 'it measures on both' profiles_both
if command -v man >/dev/null; then check 'the manual page' reads_manual; else skip 'the manual page' 'no man here'; fi
check 'completion in bash' completes
check 'an example compiles against it' compiles_example
if [[ $(id -u) -eq 0 ]]; then check 'dpkg removes it' removes; else skip 'dpkg removes it' 'dpkg needs root'; fi
finish
