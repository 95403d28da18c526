"""A headless Chromium, driven by the WebDriver protocol of chromedriver."""
import base64
import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from checks import comes_true
from cluster import free_port

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name of a reference to an element


def is_installed():
    return all(shutil.which(name) for name in ("chromium", "chromedriver"))


class Browser:
    def __init__(self, width=1280, height=800, is_dark=False):
        self.folder = tempfile.mkdtemp(prefix="sherd-browser-")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not comes_true(lambda: self.call("GET", "/status")["ready"]):
            raise TimeoutError("chromedriver does not start")
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     f"--user-data-dir={self.folder}", f"--window-size={width},{height}"]
        options = {"args": arguments + (["--force-dark-mode"] if is_dark else []), "perfLoggingPrefs": {"enableNetwork": True}}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.url += f"/session/{session['sessionId']}"
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        self.size(width, height)

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"].partition("\n")[0]) from None

    def command(self, name, **parameters):
        """A command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def size(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Returns the value of a function's body in the page."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector="body"):
        return self.run("const one = document.querySelector(arguments[0]); return one ? one.innerText : ''", selector)

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def press(self, text):
        """Types into what has the focus."""
        keys = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]})

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def complaints(self):
        """The lines of the console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """The addresses that pages asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.call("POST", "/se/log", {"type": "performance"})]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def end(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.folder, ignore_errors=True)
