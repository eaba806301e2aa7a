// The lens appears, follows the search, the verdict is in the hover; the kernel goes into the file and out of it again.
import { readFileSync } from "node:fs";
import { assert, until } from "../workbench.mjs";

export const order = 1;
export const title = "from the lens to the kernel, its panels, and back";

export async function run({ window, project, savedFile }) {
  const { folder, file } = project("rmsnorm_linear.py");
  const original = readFileSync(file);
  const bench = await window();
  await bench.open(folder, "rmsnorm_linear.py", { expect: "mirage.optimize" });

  await bench.lens(/Mirage: (queued|tracing|searching|verifying)/);
  await until("a running job in the status bar", async () => /Mirage 1/.test(await bench.status()));
  await bench.picture("searching");
  await bench.lens(/Mirage: \d+\.\dx .*(PROVED|TESTED).*Replace with the kernel/);
  await until("the mark beside the decorator", async () => (await bench.marks("tested")) + (await bench.marks("proved")) === 1);
  const said = await bench.hover("@mirage.optimize", "optimize", /speed of light/);
  assert.match(said, /TESTED|PROVED/);
  assert.match(said, /_rmsnorm_linear_main/);
  await bench.picture("hover");
  await bench.away();

  await bench.clickLens("Show the µGraph");
  const graph = await bench.panel("mugraph");
  assert.equal(await graph.locator(".box.kernel").count(), 2);
  assert.ok((await graph.locator(".box.block").count()) >= 2 && (await graph.locator(".box.loop").count()) >= 1);
  await bench.picture("mugraph");
  await graph.locator("#level-1").click();
  assert.equal(await graph.locator(".box.block:not(.closed)").count(), 0);
  await graph.locator("#level-3").click();
  await graph.locator("[aria-label=Larger]").click();
  assert.match(await graph.locator("#zoom").innerText(), /120/);
  assert.match(await graph.evaluate(() => fetch("https://example.org").then(() => "fetched", (e) => String(e))), /Error/);
  await graph.locator(".box.loop .line").first().click();
  await bench.sees("x = tl.load(");
}
