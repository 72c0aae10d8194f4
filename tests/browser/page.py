#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses the page of a heat map as a person does, and compares it with the same map's JSON.

    page.py PORT PROFILE URL JSON [CHECK…]

The map is that of the pattern hot-row (tests/unit/heat.c). Makes these checks, or all of CHECKS. Prints for each
its name, a tab, and "ok" or the reason. SHOTS in the environment: a directory for screenshots in light
and dark.
"""
import base64
import datetime
import glob
import json
import os
import re
import subprocess
import sys
import time

from webdriver import PATIENCE, Browser

RIGHT, DOWN, LEFT, ENTER, ESCAPE, CONTROL = "\ue014", "\ue015", "\ue012", "\ue007", "\ue00c", "\ue009"
HOT = "user#1234"
LOOKS = 100
CONSOLE = []  # messages of the pages that were looked at


class Model:
    def __init__(self, text):
        self.scan = json.loads(text)
        self.ends = self.scan["endKeyStrings"]
        self.rows = [row["cols"] for row in self.scan["metrics"][0]["matrix"]["rows"]]
        self.start = datetime.datetime.fromisoformat(self.scan["startTime"].replace("Z", "+00:00"))

    def row(self, name):
        """The index of the range with that name."""
        end = name.split(" to ")[-1] if " to " in name else "after " + name
        end = "" if end == "the last key" else end
        return self.ends.index(end[6:] + "%00" if end.startswith("after ") else end)

    def column(self, time):
        at = datetime.datetime.fromisoformat(time + "+00:00")
        return int((at - self.start).total_seconds()) // self.scan["stepSeconds"]


class Page:
    def __init__(self, browser, model):
        self.browser, self.model = browser, model
        self.canvas = browser.script("""
            const box = document.getElementById('map').getBoundingClientRect();
            return {x: box.left, y: box.top, w: box.width, h: box.height};""")

    def at(self, x, y):
        """The page's place of a part of the canvas."""
        return self.canvas["x"] + x * self.canvas["w"], self.canvas["y"] + y * self.canvas["h"]

    def tip(self):
        """(row, column, value) of the text beside the pointed cell."""
        text = self.browser.text("#tip")
        name, time, value = text.split("\n")
        value = int(re.match(r"[\d,]+", value)[0].replace(",", ""))
        return self.model.row(name), self.model.column(time[:16]), value

    def point(self, x, y):
        self.browser.pointer(self.at(x, y))
        return self.tip()

    def expect_value(self, cell):
        row, column, value = cell
        expect(value, self.model.rows[row][column])
        return row, column


def read(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


def expect(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r}, not {wanted!r}")


def expect_true(what, why):
    if not what:
        raise AssertionError(why)


# ---- Checks: each gets a new look at the page --------------------------------------------------

def title_and_words(page):
    expect(page.browser.text("h1"), "demo: operations by key and time")
    expect(page.browser.script("return document.title"), "demo: operations by key and time")
    expect_true(f"Hot row {HOT}" in page.browser.text("#diagnosis"), page.browser.text("#diagnosis"))
    expect_true(HOT in page.browser.text("#hot"), page.browser.text("#hot"))
    expect_true("operations in 1 minute" in page.browser.text("#legend"), page.browser.text("#legend"))
    expect_true("UTC" in page.browser.text("#when"), page.browser.text("#when"))


def pointing(page):
    places = [page.expect_value(page.point(x, y)) for x in (0.4, 0.55, 0.7, 0.85) for y in (0.1, 0.5, 0.9)]
    rows, columns = [row for row, _ in places[:3]], [column for _, column in places[::3]]
    expect((rows, columns), (sorted(set(rows)), sorted(set(columns))))
    page.browser.pointer(page.at(0.01, 0.99))
    expect(page.browser.text("#tip"), "")


def hot_list(page):
    row = page.model.row(HOT)
    page.browser.click("#hot button")
    got, column, value = page.tip()
    expect((got, value), (row, max(page.model.rows[row])))
    expect(page.browser.text("#copied"), "Copied demo/user/1234")


def keyboard(page):
    page.browser.click("#hot button")
    row, column, _ = page.tip()
    for keys, down, right in ((RIGHT, 0, 1), (DOWN, 1, 1), (LEFT, 1, 0), (LEFT, 1, -1)):
        page.browser.keys("#map", keys)
        expect(page.expect_value(page.tip()), (row + down, column + right))
    page.browser.click("#hot button")
    page.browser.script("document.getElementById('copied').textContent = ''")
    page.browser.keys("#map", ENTER)
    within(page, lambda: page.browser.text("#copied") == "Copied demo/user/1234")
    width = shown(page)
    page.browser.keys("#map", "+++")
    expect_true(shown(page) < width / 3, f"{shown(page)} columns after three +")
    page.browser.keys("#map", "-")
    expect_true(shown(page) > width / 3, f"{shown(page)} columns after -")
    page.browser.keys("#map", "0")
    expect(shown(page), width)
    page.browser.keys("#map", "+")
    page.browser.keys("#map", ESCAPE)
    expect(shown(page), width)


def within(page, condition):
    for _ in range(PATIENCE // 50):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("missing, at: " + page.browser.text("#copied"))


def shown(page):
    """The columns between two places of the map."""
    return page.point(0.85, 0.5)[1] - page.point(0.4, 0.5)[1]


def click_copies(page):
    page.browser.pointer(page.at(0.6, 0.3), "down 1", "up 1")
    expect(page.browser.text("#copied"), "")
    name, _, _ = (page.browser.pointer(page.at(0.6, 0.3)), page.browser.text("#tip").split("\n"))[1]
    page.browser.pointer(page.at(0.6, 0.3), "down", "up")
    first, *last = [int(part[-4:]) for part in name.split(" to ")]
    one = not last or (last[0] == first + 1 and "after" not in name)
    path = "demo/user" + (f"/{first:04}" if one else "")
    within(page, lambda: page.browser.text("#copied") == "Copied " + path)
    page.browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    expect(page.browser.script("return navigator.clipboard.readText()"), path)


def pasted_paths(page):
    """A key of another user, copied by each button of the hot list and pasted behind `ls -d` in PASTE, which has the mount's entries."""
    where, found = os.environ["PASTE"], set()
    page.browser.script("document.body.prepend(Object.assign(document.createElement('input'), {id: 'paste'}))")
    for i in range(page.browser.script("return document.querySelectorAll('#hot button').length")):
        page.browser.script("document.getElementById('copied').textContent = document.getElementById('paste').value = ''")
        page.browser.click(f"#hot li:nth-child({i + 1}) button")
        within(page, lambda: page.browser.text("#copied").startswith("Copied "))
        page.browser.keys("#paste", CONTROL + "v")
        path = page.browser.script("return document.getElementById('paste').value")
        done = subprocess.run(["bash", "-c", "ls -d " + path], cwd=where, capture_output=True, text=True, check=False)
        expect((done.returncode, done.stderr), (0, ""))
        found.add(os.path.normpath(done.stdout.rstrip("\n")))
    expect(found, {os.path.relpath(row, where) for row in glob.glob(f"{where}/[!.]*/*")})


def wheel_and_drag(page):
    width, pointed = shown(page), page.point(0.6, 0.5)
    page.browser.wheel(*page.at(0.6, 0.5), -400)
    expect_true(shown(page) < width, "the wheel does not zoom")
    row, column, _ = page.point(0.6, 0.5)
    expect_true(abs(row - pointed[0]) <= 2 and abs(column - pointed[1]) <= 2, "the zoom moves what is pointed to")
    page.browser.script("document.getElementById('copied').textContent = ''")
    page.browser.pointer(page.at(0.6, 0.5), "down", page.at(0.65, 0.55), page.at(0.7, 0.6), "up")
    expect_true(page.point(0.6, 0.5)[1] < column, "the map does not follow the pointer")
    expect(page.browser.text("#copied"), "")
    for _ in range(9):
        page.browser.wheel(*page.at(0.6, 0.5), 400)
    expect(shown(page), width)


def buttons(page):
    width = shown(page)
    page.browser.click("#in")
    expect_true(shown(page) < width, "the button + does not zoom")
    page.browser.click("#out")
    expect(shown(page), width)
    page.browser.click("#in")
    page.browser.click("#reset")
    expect(shown(page), width)


def accessible(page):
    expect(page.browser.label("#map"), "demo: operations by key and time")
    expect(page.browser.label("#in"), "Zoom in")
    expect(page.browser.label("#out"), "Zoom out")
    expect_true(HOT in page.browser.label("#hot button"), page.browser.label("#hot button"))
    expect_true("operations" in page.browser.label("#legend"), page.browser.label("#legend"))
    expect(page.browser.script("return document.documentElement.lang"), "en")
    expect(page.browser.script("const main = document.getElementById('main'); main.hidden = true; return main.offsetHeight"), 0)


def luminance(color):
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def light_and_dark(page):
    """Text has the contrast of WCAG 2 (AAA: 7, dim text AA: 4.5), and the ground is light, dark."""
    for scheme in ("light", "dark"):
        page.browser.scheme(scheme)
        ground, text, dim = page.browser.script("""
            const of = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
            return [of('body', 'backgroundColor'), of('body', 'color'), of('.dim', 'color')];""")
        expect(luminance(ground) > 0.5, scheme == "light")
        for color, least in ((text, 7), (dim, 4.5)):
            pair = sorted((luminance(ground), luminance(color)))
            expect_true((pair[1] + 0.05) / (pair[0] + 0.05) >= least, f"{scheme}: {color} on {ground}")
        colors = page.browser.script("""
            const map = document.getElementById('map'), seen = new Set();
            const pixels = new Uint32Array(map.getContext('2d').getImageData(0, 0, map.width, map.height).data.buffer);
            for (const pixel of pixels) seen.add(pixel);
            return seen.size;""")
        expect_true(colors > 8, f"{colors} colours")
        if os.environ.get("SHOTS"):
            with open(f"{os.environ['SHOTS']}/{scheme}.png", "wb") as shot:
                shot.write(base64.b64decode(page.browser.screenshot()))


def quiet(page):
    """No errors, and no request of the page but that for itself."""
    errors = [entry["message"] for entry in CONSOLE + page.browser.log("browser") if entry["level"] != "INFO"]
    expect(errors, [])
    events = [json.loads(entry["message"])["message"] for entry in page.browser.log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    urls = {params["request"]["url"] for params in sent if params["documentURL"] == sys.argv[3]}
    expect({url for url in urls if not url.startswith("data:")}, {sys.argv[3]})


CHECKS = (title_and_words, pointing, hot_list, keyboard, click_copies, wheel_and_drag, buttons, accessible, quiet, light_and_dark)
NAMED = (pasted_paths,)  # on another map, only where the name is given


def look(browser, url, file):
    """Opens the page, and returns the model of the map that it shows.

    The server makes a new map each minute. The kernel cuts a page at the size of the last map. If the map changed
    meanwhile or the page is cut, this function opens the page again. The console's messages about a cut page are dropped.
    """
    for _ in range(LOOKS):
        text = read(file)
        CONSOLE.extend(browser.log("browser"))
        browser.open(url)
        messages = browser.log("browser")
        if read(file) == text and browser.text("#when"):  # which the script of a whole page fills
            CONSOLE.extend(messages)
            return Model(text)
    raise AssertionError(f"the page was cut, or its map changed, {LOOKS} times")


def main():
    model, browser = None, Browser(sys.argv[1], sys.argv[2])
    try:
        for check in [check for check in CHECKS + NAMED if check.__name__ in sys.argv[5:] or (check in CHECKS and len(sys.argv) == 5)]:
            try:
                if check is not quiet:
                    model = look(browser, sys.argv[3], sys.argv[4])
                check(Page(browser, model))
                result = "ok"
            except Exception as error:  # a check that cannot go on has failed
                result = f"{type(error).__name__}: {error}".replace("\n", " ")
            print(f"{check.__name__.replace('_', ' ')}\t{result}", flush=True)
    finally:
        browser.close()


main()
