// Which Python is taken: the Python extension's, then the setting, then the folder's own, then the PATH; and what is said where none has Mirage.
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { assert, until } from "../workbench.mjs";

export const order = 5;
export const title = "the interpreter: four places, and none";

export async function run({ shared, settings, setup }) {
  const bin = path.join(setup.folder, "bin");
  const { bench, folder } = await shared("softmax.py", { expect: "import mirage" });
  try {
    await until("the Python extension's", async () => /from the Python extension/.test(await bench.status()));
    settings({ "standIn.python": "/usr/bin/python3", "mirage.interpreter": setup.python });
    await until("the setting's", async () => /from the setting/.test(await bench.status()));
    symlinkSync(path.dirname(path.dirname(setup.python)), path.join(folder, ".venv"));
    settings({ "standIn.python": "", "mirage.interpreter": "" });
    await until("the folder's", async () => /from the folder's \.venv/.test(await bench.status()));
    // Another server first: one whose environment is gone cannot import what it has not needed yet.
    settings({ "standIn.python": "", "mirage.interpreter": setup.python });
    await until("the setting's again", async () => /from the setting/.test(await bench.status()));
    rmSync(path.join(folder, ".venv"));
    mkdirSync(bin, { recursive: true });
    symlinkSync(path.join(path.dirname(setup.python), "mirage"), path.join(bin, "mirage"));
    settings({ "standIn.python": "", "mirage.interpreter": "" });
    await until("the PATH's", async () => /from the PATH/.test(await bench.status()));
    rmSync(bin, { recursive: true });
    await bench.command("Mirage: Restart the Language Server");
    await until("that none has Mirage", async () => /not installed/.test(await bench.status()));
    await bench.picture("missing");
    await bench.page.locator("[id='mirage-superoptimizer.mirage.mirage.status'] a").click();
    await bench.page.locator(".quick-input-widget .monaco-list-row", { hasText: "Install Mirage" }).click();
    await bench.page.locator(".notification-list-item", { hasText: "Mirage is not installed" }).getByRole("button", { name: /Install into/ }).waitFor();
    await bench.picture("install");
  } finally {
    settings({ "standIn.python": setup.python, "mirage.interpreter": "" });
  }
  await until("a running server", async () => /running/.test(await bench.status()));
  await bench.command("Mirage: Check the Installation");
  const row = bench.page.locator(".quick-input-widget .monaco-list-row", { hasText: "torch" });
  await row.first().waitFor();
  await bench.picture("check");
  assert.match(await bench.page.locator(".quick-input-widget").innerText(), /Mirage: (nothing is missing|\d+ missing)/);
  await bench.page.keyboard.press("Escape");
  await bench.command("Mirage: Get Started");
  await bench.page.waitForSelector(".gettingStartedContainer :text('Get started with Mirage')");
  await bench.picture("walkthrough");
}
