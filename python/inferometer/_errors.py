"""What goes wrong, by the exit status of the command. Each carries the command's one line."""


class Error(RuntimeError):
    """status: of the command. notes: its lines on standard error."""

    status = 1

    def __init__(self, message, status=None, notes=()):
        super().__init__(message)
        self.status, self.notes = self.status if status is None else status, list(notes)


class Failed(Error):
    """Nothing was measured: what was asked for failed, or is not supported (status 1)."""


class UsageError(Error, ValueError):
    """A value that an option does not take (status 2)."""
    status = 2


class InputError(Error, ValueError):
    """A model or a file that cannot be read, or a module that cannot be exported (status 3)."""
    status = 3


class Unavailable(Error):
    """A file, a device, a runtime or the command that is not there (status 4)."""
    status = 4


class Crashed(Error):
    """The command itself ended by a signal (negative status)."""


def of(status, message, notes):
    """The exception for an exit status."""
    kinds = {kind.status: kind for kind in (Failed, UsageError, InputError, Unavailable)}
    kind = Crashed if status < 0 or status > 128 else kinds.get(status, Failed)
    return kind(message, status, notes)
