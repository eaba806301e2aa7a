// What a screen reader has to say: names of buttons, of lenses, of the status item, of tables and controls in the panels.
import { assert } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "labels for screen readers";

/** The controls without a name. */
const nameless = (scope) =>
  scope.evaluateAll((all) => all.filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.getAttribute("title"))).map((e) => e.outerHTML.slice(0, 200)));

export async function run({ shared }) {
  const { bench } = await shared("labels.py", { expect: "mirage.optimize", text: scaled });
  await bench.lens(/Replace \| More/);
  assert.match(await bench.status(), /\| .*Mirage/);
  assert.deepEqual(await nameless(bench.page.locator(".codelens-decoration a")), []);
  await bench.compare();
  for (const name of ["Accept the Kernel", "Reject the Kernel"]) assert.equal(await bench.page.getByRole("button", { name }).count(), 1, name);
  await bench.decide("Reject the Kernel");
  await bench.click("def scaled", "scaled");
  for (const [kind, command] of [["mugraph", "Mirage: Show the µGraph"], ["proof", "Mirage: Show the Proof"]]) {
    await bench.command(command);
    const panel = await bench.panel(kind);
    assert.ok((await panel.locator("button").count()) > 1);
    assert.deepEqual(await nameless(panel.locator("button, a, [role=button]")), []);
    assert.equal(await panel.locator("main, [role=main]").count(), 1);
    assert.equal(await panel.locator("h1").innerText(), "scaled");
    assert.equal(await panel.locator("th:not([scope])").count(), 0);
    assert.equal(await panel.evaluate(() => document.documentElement.lang), "en");
    await bench.only("labels.py", "mirage.optimize");
    await bench.click("def scaled", "scaled");
  }
}
