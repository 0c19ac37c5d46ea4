"""A headless Chromium that a script drives through its pipe (Chrome DevTools Protocol). Nothing but Python is needed."""
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = "chromium"
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
           "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"]


def find():
    """The browser's path, or None."""
    return shutil.which(PROGRAM)


class Failure(Exception):
    """What the browser, or a script in the page, said went wrong."""


class Browser:
    """One browser with one page: with Browser() as browser: browser.load(path); browser.evaluate("document.title")."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="ifm-browser-")
        down, self.write_end = os.pipe()
        self.read_end, up = os.pipe()
        high = [os.dup2(end, 60 + i) for i, end in enumerate((down, up))]  # out of the way of 3 and 4
        command = ["bash", "-c", 'exec "$0" "$@" 3<&60 4>&61 60<&- 61>&-', find(), *OPTIONS, "--user-data-dir=" + self.home,
                   "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.home}, start_new_session=True)
        for end in (down, up, *high):
            os.close(end)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.home, ignore_errors=True)

    def _receive(self, timeout):
        deadline = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise Failure("the browser does not answer")
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise Failure("the browser ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, timeout=60, **parameters):
        """What a method of the protocol answers. Events that come before are kept in self.events."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        while True:
            answer = self._receive(timeout)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait(self, is_it, timeout=60):
        """Until such an event has come since load()."""
        while not any(is_it(event) for event in self.events):
            answer = self._receive(timeout)
            if "method" in answer:
                self.events.append(answer)

    def load(self, path):
        """Opens a file. self.events then has all that happened."""
        self.events = []
        loader = self.call("Page.navigate", url="file://" + os.path.abspath(path))["loaderId"]
        self.wait(lambda event: event["method"] == "Page.lifecycleEvent" and event["params"]["name"] == "load"
                  and event["params"]["loaderId"] == loader)

    def evaluate(self, expression):
        """The value of an expression in the page, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def show(self, theme, media=""):
        """@theme: "light" or "dark", as the reader's system asks for    @media: "print", or "" for the screen"""
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": theme}])

    def press(self, key):
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "ArrowDown": 40, "Escape": 27, "Tab": 9, "Enter": 13}
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        code = codes.get(key, ord(key[0]))
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, path, whole=True):
        """The page as a PNG file. @whole: not the window alone"""
        import base64
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=whole,
                           **({"clip": {**self.call("Page.getLayoutMetrics")["cssContentSize"], "scale": 1}} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
