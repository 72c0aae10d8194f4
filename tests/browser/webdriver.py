# SPDX-License-Identifier: MIT
"""A session of Chromium, spoken to through chromedriver (W3C WebDriver)."""
import json
import os
import urllib.error
import urllib.request

PATIENCE = 1000 * int(os.environ["LIB_PATIENCE"])  # milliseconds (lib.sh)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CHROMIUM = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--window-size=1280,900"]


class Browser:
    def __init__(self, port, profile):
        self.base = f"http://127.0.0.1:{port}/session"
        options = {"args": [*CHROMIUM, f"--user-data-dir={profile}"]}
        logs = {"browser": "ALL", "performance": "ALL"}
        session = self.send("", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs,
            "timeouts": {"script": PATIENCE, "pageLoad": PATIENCE}}}})
        self.base += "/" + session["sessionId"]

    def send(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {json.load(error)['value']['message']}") from error

    def close(self):
        self.send("", method="DELETE")

    def open(self, url):
        self.send("/url", {"url": url})

    def script(self, text, *args):
        return self.send("/execute/sync", {"script": text, "args": list(args)})

    def find(self, selector):
        return self.send("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0]).textContent", selector)

    def label(self, selector):
        return self.send(f"/element/{self.find(selector)}/computedlabel")

    def keys(self, selector, text):
        self.send(f"/element/{self.find(selector)}/value", {"text": text})

    def click(self, selector):
        self.send(f"/element/{self.find(selector)}/click", {})

    def pointer(self, *steps):
        """Steps: (x, y) moves, "down" and "up" press and release, "down 1" and "up 1" another button than the first."""
        actions = []
        for step in steps:
            if isinstance(step, str):
                kind, _, button = step.partition(" ")
                actions.append({"type": "pointerDown" if kind == "down" else "pointerUp", "button": int(button or 0)})
            else:
                actions.append({"type": "pointerMove", "x": round(step[0]), "y": round(step[1]), "duration": 0})
        self.send("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]})

    def wheel(self, x, y, delta):
        self.send("/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": delta}]}]})

    def cdp(self, command, **params):
        return self.send("/goog/cdp/execute", {"cmd": command, "params": params})

    def scheme(self, value):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def screenshot(self):
        """PNG in base64."""
        return self.send("/screenshot")

    def log(self, kind):
        return self.send("/se/log", {"type": kind})
