// Verify again runs the verification of the edited text: a wrong edit stays void, a right one is kept.
import { readFileSync } from "node:fs";
import { assert, until } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "an edited kernel, verified again: a wrong edit and a right one";

export async function run({ shared }) {
  const { bench, file } = await shared("verified.py", { expect: "mirage.optimize", text: scaled });
  await bench.lens(/Replace \| More/);
  await bench.clickLens("Replace");
  await bench.lens(/Mirage: replaced/);
  await bench.typeBehind("5.0 * x", " + 1.0");
  await bench.top();
  await bench.clickLens("Verify again");
  await bench.lens(/verifying the edited code/);
  await bench.notification(/MIR606/, 120_000);
  await bench.lens(/edited by hand/);
  await bench.typeBehind("5.0 * x", " * 1.0"); // before the wrong one
  for (let i = 0; i < " + 1.0".length; i++) await bench.page.keyboard.press("Delete");
  await bench.top();
  await bench.clickLens("Verify again");
  await bench.lens(/edited by hand, (tested|proved) since \| Restore/, 120_000);
  await bench.picture("verified");
  await bench.save();
  await until("the edit in the file", () => readFileSync(file, "utf8").includes("5.0 * x * 1.0"));
  assert.ok(!(await bench.lenses()).some((text) => /void|\dx/.test(text)), "no ratio: none was measured of the edited code");
  assert.equal(await bench.marks("warning"), 0);
}
