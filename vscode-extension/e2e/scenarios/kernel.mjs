// The lens appears, follows the search, the verdict is in the hover; the kernel goes into the file and out of it again.
import { copyFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { assert, until } from "../workbench.mjs";

export const order = 1;
export const title = "from the lens to the kernel, its panels, and back";

export async function run({ shared, savedFile, settings, setup }) {
  const { bench, file } = await shared("rmsnorm_linear.py", { expect: "mirage.optimize" });
  const original = readFileSync(file);

  await bench.lens(/Mirage: (queued|tracing|searching|verifying)/);
  await until("a running job in the status bar", async () => /Mirage 1/.test(await bench.status()));
  await bench.picture("searching");
  await bench.lens(/Mirage \d+\.\dx.*(proved|tested) \| Replace \| More/);
  const marked = async (...marks) => (await Promise.all(marks.map((m) => bench.marks(m)))).reduce((sum, n) => sum + n, 0);
  await until("the mark beside the decorator", async () => (await marked("tested", "proved", "warning")) === 1);
  await bench.row(/^nothing runs/);
  await bench.row(/^entries ?[1-9]/);
  const said = await bench.hover("@mirage.optimize", "optimize", /speed of light/);
  assert.match(said, /TESTED|PROVED/);
  assert.equal(await marked("warning"), /⚠/.test(said) ? 1 : 0, "a warning beside the line, and in the hover why");
  assert.match(said, /_rmsnorm_linear_main/);
  const links = bench.page.locator(".monaco-hover:not(.hidden) a[data-href^='command:mirage.']");
  assert.deepEqual(await links.allInnerTexts(), ["µGraph", "proof"]);
  await bench.picture("hover");
  await bench.away();

  await bench.click("def rmsnorm_linear", "rmsnorm_linear");
  await bench.command("Mirage: Show the µGraph");
  await mugraph(bench, settings);
  await proof(bench);
  await compare(bench);

  await bench.clickLens("Replace");
  await bench.sees("# mirage:begin rmsnorm_linear");
  await bench.lens(/Restore/);
  await bench.save();
  await until("the saved file", () => readFileSync(file, "utf8").includes("# mirage:end rmsnorm_linear"));
  await bench.picture("replaced");
  const copy = path.join(setup.folder, "saved.py");
  copyFileSync(file, copy);
  const ran = savedFile(copy, "rmsnorm_linear.py", "rmsnorm_linear");
  ran.catch(() => undefined); // looked at below, whatever happens meanwhile
  await bench.action("# mirage:begin", "begin", "restore the original");
  await bench.gone("# mirage:"); // the block quotes the original: its text on the screen does not say that it is back
  await bench.sees("@mirage.optimize");
  await bench.saves(file, original);
  return async () => {
    const { before, launches, error } = await ran;
    assert.ok(before === 0 && launches >= 1 && error < 2e-3, JSON.stringify({ before, launches, error }));
  };
}

async function mugraph(bench, settings) {
  const graph = await bench.panel("mugraph");
  assert.equal(await graph.locator(".box.kernel").count(), 2);
  assert.ok((await graph.locator(".box.block").count()) >= 2 && (await graph.locator(".box.loop").count()) >= 1);
  const name = graph.locator(".box.loop .name", { hasText: /^x$/ }).first();
  await name.hover();
  assert.ok((await graph.locator(".name.marked").count()) >= 3);
  await bench.picture("mugraph");
  const dark = await graph.evaluate(() => getComputedStyle(document.body).backgroundColor);
  settings({ "workbench.colorTheme": "Default Light Modern" });
  await until("the light colours", async () => (await graph.evaluate(() => getComputedStyle(document.body).backgroundColor)) !== dark);
  await bench.picture("mugraph-light");
  settings({ "workbench.colorTheme": "Default Dark Modern" });
  await graph.locator("#level-1").click();
  assert.equal(await graph.locator(".box.loop").count(), 0);
  await graph.locator(".box.closed .title").first().click(); // opens this level
  await graph.locator("#level-3").click();
  await graph.locator("[aria-label=Larger]").click();
  assert.match(await graph.locator("#zoom").innerText(), /120/);
  assert.match(await graph.evaluate(() => fetch("https://example.org").then(() => "fetched", (e) => String(e))), /Error/, "the policy lets nothing be fetched");
  const script = () => new Promise((done) => { const s = document.createElement("script"); s.textContent = "document.body.dataset.ran = 1"; document.body.append(s); done(document.body.dataset.ran ?? "held"); }); // prettier-ignore
  assert.equal(await graph.evaluate(script), "held", "the policy lets no other script run");
  await graph.locator(".box.loop .line").first().click();
  await bench.sees("x = tl.load(");
}

async function proof(bench) {
  await (await bench.panel("mugraph")).locator("button", { hasText: "Proof" }).click();
  const panel = await bench.panel("proof");
  await panel.locator(".step").first().waitFor();
  assert.match(await panel.locator("#step").innerText(), /^step 1 of [1-9]/);
  await panel.locator("#next").click();
  assert.match(await panel.locator("#step").innerText(), /^step 2 of/);
  assert.match(await panel.locator(".step.current .after").first().innerText(), /sum/);
  assert.match(await panel.locator("table").first().innerText(), /algebra\s+PROVED/);
  await bench.picture("proof");
}

async function compare(bench) {
  await bench.only("rmsnorm_linear.py", "def rmsnorm_linear(");
  await bench.lens(/Replace/);
  await bench.click("def rmsnorm_linear", "rmsnorm_linear");
  await bench.command("Mirage: Compare the Original with the Kernel");
  await bench.compared();
  await bench.only("rmsnorm_linear.py", "def rmsnorm_linear(");
}
