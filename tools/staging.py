"""What is installed of a build folder, for packages: tools/make-wheel and tools/make-deb."""
import json
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# what every system has that the packages are for: the C and C++ base system
BASE = re.compile(r"lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so|ld-linux")


def introspect(build, what):
    """What Meson knows of a build folder."""
    return json.loads((build / "meson-info" / f"intro-{what}.json").read_text())


def version(build):
    """Of the project."""
    return introspect(build, "projectinfo")["version"]


def stage(build, folder):
    """Builds what is installed, no test, and installs it below `folder`, without the runtimes. Returns: the prefix there"""
    options = {option["name"]: option["value"] for option in introspect(build, "buildoptions")}
    if options["buildtype"] != "release" or options["optimization"] not in ("2", "3", "s"):
        raise SystemExit(f"{build}: of build type {options['buildtype']}, optimisation {options['optimization']}: "
                         "packages are made of a release build")
    if options["b_sanitize"] != "none":
        raise SystemExit(f"{build}: built under a sanitizer: packages are made of a release build")
    targets = [file for target in introspect(build, "targets") if target.get("installed")
               for file in target["filename"]]
    subprocess.run(["ninja", "-C", build, "--quiet", *(str(pathlib.Path(t).relative_to(build)) for t in targets)],
                   check=True)
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder, "--tags",
                    "runtime,devel,man"], check=True, stdout=subprocess.DEVNULL)
    return folder / options["prefix"].lstrip("/")


def needed(file):
    """{name: path} of all shared libraries that the loader takes for it, less those of the base system."""
    said = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    missing = re.findall(r"(\S+) => not found", said)
    if missing:
        raise SystemExit(f"{file}: needs {', '.join(missing)}, which this machine has not")
    return {name: pathlib.Path(path).resolve() for name, path in re.findall(r"(\S+) => (/\S+)", said)
            if not BASE.match(name)}


def packages_of(paths):
    """The Debian packages that files are of."""
    # some packages name them as they were before /lib was part of /usr
    both = [path for file in map(str, paths) for path in (file, file.removeprefix("/usr"))]
    said = subprocess.run(["dpkg-query", "-S", *both], capture_output=True, text=True, check=False).stdout
    owners = {path: package for package, path in re.findall(r"^([^:\s]+)[^/]*: (/.*)$", said, re.MULTILINE)}
    for file in map(str, paths):
        if file not in owners and file.removeprefix("/usr") not in owners:
            raise SystemExit(f"{file}: of no package, so of no known licence")
    return sorted(set(owners.values()))


def onednn_of(build):
    """The oneDNN that the program opens: its name, which has the version of the interface, and its file."""
    name = re.search(rb"libdnnl\.so\.\d+", (build / "inferometer").read_bytes()).group().decode()
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = re.search(rf"\b{re.escape(name)} .*=> (/\S+)", said)
    if path is None:
        raise SystemExit(f"{name}: not on this machine")
    return name, pathlib.Path(path.group(1)).resolve()


def tested_versions():
    """[(runtime, oldest, newest)]"""
    lines = (SOURCE / "setup" / "tested.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]
