// A window of VS Code's workbench in a browser, as its user has it: what is on the screen, the mouse, the keys.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";

const QUICK = 400; // ms between looks at the screen, while nothing says that it changed

/** The first true value of `look`; an error that names what was waited for. */
export async function until(what, look, ms = 30_000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${ms / 1000} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Workbench {
  constructor(page, setup, lap) {
    this.page = page;
    this.setup = setup; // { port, out, python, ... } of run.mjs
    this.lap = lap; // told of what is reached
  }

  /** Open a folder with one of its files. `trust`: the answer to the question whether its authors are trusted; `asks`: it
   * was not answered before. */
  async open(folder, file, { trust = true, asks = true, expect = "import" } = {}) {
    const at = `127.0.0.1:${this.setup.port}`;
    const payload = JSON.stringify([["openFile", `vscode-remote://${at}${path.join(folder, file)}`]]);
    await this.page.goto(`http://${at}/?folder=${encodeURIComponent(folder)}&payload=${encodeURIComponent(payload)}`, { waitUntil: "domcontentloaded" });
    const dialog = this.page.locator(".monaco-dialog-box");
    if (asks) {
      await dialog.waitFor({ timeout: 60_000 });
      await dialog.getByRole("button", { name: trust ? /^Yes/ : /^No/ }).click();
      await dialog.waitFor({ state: "detached" });
    }
    await this.sees(expect);
    this.lap("open");
  }

  /** Close everything, and open one file of the folder. */
  async only(file, expect) {
    await this.page.bringToFront();
    await this.command("View: Close All Editors");
    await until("no editor", async () => (await this.page.locator(".tabs-container .tab").count()) === 0);
    const row = this.page.locator(".quick-input-widget .monaco-list-row", { hasText: file }).first();
    await until(`the file ${file}`, async () => {
      await this.page.keyboard.press("Escape");
      await this.page.keyboard.press("Control+P");
      await this.page.locator(".quick-input-widget input").first().fill(file, { timeout: 2000 }).catch(() => undefined);
      return row.click({ timeout: 4000 }).then(() => true, () => false);
    });
    await this.sees(expect);
  }

  /** A line of the editor holds a text. */
  sees(text, ms = 60_000) {
    return this.page.waitForFunction(
      (wanted) => [...document.querySelectorAll(".monaco-editor .view-line")].some((l) => l.textContent.replaceAll("\u00a0", " ").includes(wanted)),
      text,
      { timeout: ms },
    );
  }

  /** No line of the editor holds a text. */
  gone(text, ms = 60_000) {
    return this.page.waitForFunction(
      (unwanted) => {
        const lines = [...document.querySelectorAll(".monaco-editor .view-line")];
        return lines.length > 0 && !lines.some((l) => l.textContent.replaceAll("\u00a0", " ").includes(unwanted));
      },
      text,
      { timeout: ms },
    );
  }

  /** The code lenses on the screen, one text for each place. */
  async lenses() {
    const found = await this.page.locator(".codelens-decoration").allInnerTexts();
    return found.map((text) => text.replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim()).filter(Boolean);
  }

  lens(pattern, ms = 60_000) {
    return until(`a lens ${pattern}; last: ${this.last}`, async () => (this.last = await this.lenses()).find((text) => pattern.test(text)), ms).catch((error) => {
      throw new Error(`${error.message}; the lenses are ${JSON.stringify(this.last)}`);
    });
  }

  /** Click a lens's command; again when the lens was drawn anew meanwhile, until it was there and is gone. */
  async clickLens(title) {
    await this.page.bringToFront();
    let clicked = false;
    await until(`a click on the lens ${title}`, async () => {
      const link = this.page.locator(".codelens-decoration a", { hasText: title }).first();
      if (clicked && !(await link.count())) return true;
      const box = await link.boundingBox({ timeout: 1000 }).catch(() => null);
      if (!box) return false;
      clicked = true;
      return link.click({ timeout: 2000 }).then(() => true, () => false);
    });
  }

  /** Click a lens's command that stays where it is. */
  async clickLensThat(title) {
    await until(`a click on the lens ${title}`, () => this.page.locator(".codelens-decoration a", { hasText: title }).first().click({ timeout: 2000 }).then(() => true, () => false));
  }

  /** A notification with a text; and one of its buttons. */
  notification(pattern, ms = 30_000) {
    return this.page.locator(".notification-list-item", { hasText: pattern }).first().waitFor({ timeout: ms });
  }

  async answer(title) {
    await this.page.locator(".notification-list-item").getByRole("button", { name: title, exact: true }).first().click();
  }

  /** The comparison of the function with its kernel, by the lens's More. */
  async compare() {
    const row = this.page.locator(".quick-input-widget .monaco-list-row", { hasText: "Compare, then accept" }).first();
    await until("what More offers", async () => {
      await this.page.keyboard.press("Escape");
      await this.page.locator(".codelens-decoration a", { hasText: "More" }).first().click({ timeout: 2000 }).catch(() => undefined);
      return row.waitFor({ timeout: 3000 }).then(() => true, () => false);
    });
    await this.page.keyboard.press("Enter");
    await this.compared();
  }

  compared() {
    return this.page.waitForSelector(".monaco-diff-editor .line-insert, .monaco-diff-editor .char-insert");
  }

  /** One of the two buttons in the comparison's title. */
  async decide(title) {
    await this.page.locator(".editor-actions").getByRole("button", { name: title }).first().click();
    await until("the comparison closed", async () => (await this.page.locator(".monaco-diff-editor").count()) === 0);
  }

  /** Put the caret behind the first place of a text of the file, on the screen or not, and type. */
  async typeBehind(text, typed) {
    await this.find(text);
    await this.page.keyboard.press("ArrowRight");
    await this.page.keyboard.type(typed);
  }

  /** Select the first place of a text. */
  async find(text) {
    await this.top();
    await this.page.keyboard.press("Control+F");
    const input = this.page.locator(".find-widget.visible textarea").first();
    await input.fill(text);
    await until(`${text} in the file`, async () => {
      const count = await this.page.locator(".find-widget .matchesCount").first().innerText();
      if (/^\? of/.test(count)) await this.page.keyboard.press("Enter");
      return /^\d+ of/.test(count);
    });
    await until("the search closed", async () => {
      if ((await this.page.locator(".find-widget.visible").count()) === 0) return true;
      await this.page.keyboard.press("Escape"); // may close a message first
      return false;
    });
  }

  /** The caret at the file's begin. */
  async top() {
    await this.page.keyboard.press("Control+1");
    await this.page.keyboard.press("Control+Home");
  }

  /** The screen's place of a word in a line that holds `line`. */
  at(line, word) {
    return this.page.evaluate(
      ([wanted, part]) => {
        for (const l of document.querySelectorAll(".monaco-editor .view-line")) {
          if (!l.textContent.replaceAll("\u00a0", " ").includes(wanted)) continue;
          const walker = document.createTreeWalker(l, NodeFilter.SHOW_TEXT);
          for (let node; (node = walker.nextNode()); ) {
            const i = node.data.indexOf(part);
            if (i < 0) continue;
            const range = document.createRange();
            range.setStart(node, i);
            range.setEnd(node, i + part.length);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
          }
        }
        return null;
      },
      [line, word],
    );
  }

  /** The hover over a word. It opens on a move of the mouse only, and a lens may move the lines meanwhile. */
  async hover(line, word, pattern) {
    return until(`a hover with ${pattern}`, async () => {
      const place = await this.at(line, word);
      if (!place) return false;
      await this.page.mouse.move(place[0] + 300, place[1] + 200);
      await this.page.mouse.move(place[0], place[1], { steps: 3 });
      const hover = this.page.locator(".monaco-hover:not(.hidden)", { hasText: pattern });
      return hover.first().waitFor({ timeout: 2500 }).then(() => hover.first().innerText(), () => false);
    });
  }

  async away() {
    await this.page.keyboard.press("Escape");
    await this.page.mouse.move(900, 760);
  }

  async click(line, word) {
    const place = await until(`${word} on the screen`, () => this.at(line, word));
    await this.page.mouse.click(...place);
  }

  /** Run a command of the palette by its title. */
  async command(title) {
    const input = this.page.locator(".quick-input-widget input").first();
    await until(`the command ${title}`, async () => {
      await this.page.keyboard.press("F1");
      if (!(await input.waitFor({ timeout: 2000 }).then(() => true, () => false))) return false;
      if (!(await input.fill(`>${title}`, { timeout: 2000 }).then(() => true, () => false))) return false; // whoever takes the focus closes the list
      const row = this.page.locator(".quick-input-widget .monaco-list-row", { hasText: title }).first();
      return row.waitFor({ timeout: 3000 }).then(() => true, () => false);
    });
    await this.page.keyboard.press("Enter");
  }

  /** Choose a code action by its title, through the light bulb's menu. */
  async action(line, word, title) {
    const row = this.page.locator(".action-widget .monaco-list-row", { hasText: title });
    await until(`the action ${title}`, async () => {
      await this.away();
      await this.click(line, word);
      await this.page.keyboard.press("Control+.");
      return row.first().waitFor({ timeout: 3000 }).then(() => true, () => false);
    });
    const box = await row.first().boundingBox();
    await this.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  }

  /** Save, as often as it takes until no tab is marked as unsaved: a window that is closed sooner asks what to do. */
  async save() {
    let pressed = 0;
    await until("everything saved", async () => {
      if (pressed && !(await this.page.locator(".tabs-container .tab.dirty").count())) return true;
      if (Date.now() - pressed > 3000) {
        await this.page.keyboard.press("Control+S");
        pressed = Date.now();
      }
      return false;
    });
  }

  /** Save, and see these bytes in the file. */
  async saves(file, bytes) {
    await this.save();
    await until(`the bytes of ${path.basename(file)}`, () => readFileSync(file).equals(bytes)).catch(async (error) => {
      const unsaved = await this.page.locator(".tabs-container .tab.dirty").allInnerTexts();
      throw new Error(`${error.message}; unsaved: ${JSON.stringify(unsaved)}; the file holds\n${readFileSync(file, "utf8")}`);
    });
  }

  /** How many marks of a kind are beside the line numbers. */
  marks(mark) {
    return this.page.evaluate((name) => {
      const icon = (element) => getComputedStyle(element).backgroundImage + getComputedStyle(element, "::before").backgroundImage;
      return [...document.querySelectorAll(".monaco-editor .margin .cgmr")].filter((m) => icon(m).includes(`${name}.svg`)).length;
    }, mark);
  }

  /** The status item's text and its description. */
  async status() {
    const item = this.page.locator("[id='mirage-superoptimizer.mirage.mirage.status']");
    const read = async () => `${await item.innerText({ timeout: 2000 })} | ${await item.locator("a").getAttribute("aria-label", { timeout: 2000 })}`;
    return read().catch(() => "");
  }

  /** The rows of the side view, opened by its icon. */
  async rows() {
    const view = this.page.locator(".pane-body .monaco-list-row");
    if (!(await this.page.locator(".composite.title", { hasText: /Mirage/i }).count())) await this.page.locator(".activitybar a.action-label[aria-label^='Mirage']").click();
    const found = await view.allInnerTexts();
    return found.map((text) => text.replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim());
  }

  row(pattern, ms = 30_000) {
    return until(`a row ${pattern}`, async () => (await this.rows()).find((text) => pattern.test(text)), ms).catch(async (error) => {
      throw new Error(`${error.message}; the rows are ${JSON.stringify(await this.rows())}`);
    });
  }

  /** Put the caret behind the first occurrence of a text, and type. */
  async type(line, word, text) {
    await this.away();
    await this.click(line, word);
    await this.page.keyboard.press("End");
    await this.page.keyboard.type(text);
  }

  /** The inside of a panel; the one of `kind` that is on the screen. */
  async panel(kind) {
    return until(`the panel ${kind}`, async () => {
      for (const frame of this.page.frames()) {
        if (frame === this.page.mainFrame()) continue;
        const there = await frame.locator(`body.${kind} header`).count().catch(() => 0);
        if (there) return frame;
      }
      return undefined;
    });
  }

  async picture(name) {
    this.lap(name);
    await this.page.screenshot({ path: path.join(this.setup.out, `${name}.png`) });
  }

  async settle(ms = QUICK) {
    await this.page.waitForTimeout(ms);
  }
}

export { assert };
