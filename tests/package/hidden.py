#!/usr/bin/env python3
"""hidden.py FOLDER... [--libraries FILE...] -- COMMAND...: runs a command that sees neither what is in the folders nor the
files: in a mount namespace of its own, so that nothing outside changes. By mount(2): mount(8) is linked with libraries that
may be among the files. Exit status 77: this user may not do that."""
import ctypes
import os
import sys

NEW_MOUNTS, BIND, RECURSIVE, PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
CANNOT = 77
libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    """A function of libc, whose failure ends this program."""
    if getattr(libc, function)(*arguments) != 0:
        print(f"{function}: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        sys.exit(CANNOT)


def main(words):
    """Hides, then becomes the command."""
    hidden, command = words[:words.index("--")], words[words.index("--") + 1:]
    at = hidden.index("--libraries") if "--libraries" in hidden else len(hidden)
    call("unshare", NEW_MOUNTS)
    call("mount", b"none", b"/", None, RECURSIVE | PRIVATE, None)
    for file in hidden[at + 1:]:
        call("mount", b"/dev/null", os.path.realpath(file).encode(), None, BIND, None)
    for folder in map(os.path.realpath, hidden[:at]):
        if os.path.isdir(folder):  # else it is in one that is hidden already
            call("mount", b"none", folder.encode(), b"tmpfs", 0, None)
    os.execvp(command[0], command)


main(sys.argv[1:])
