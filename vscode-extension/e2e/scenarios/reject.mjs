// Reject in the comparison's title: a function stays as it was; of a replaced one the original comes back.
import { readFileSync } from "node:fs";
import { assert } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "compare and reject, before and after replacing";

export async function run({ shared }) {
  const { bench, file } = await shared("rejected.py", { expect: "mirage.optimize", text: scaled });
  const original = readFileSync(file);
  await bench.lens(/Replace \| More/);
  await bench.compare();
  await bench.decide("Reject the Kernel");
  await bench.lens(/Replace \| More/);
  assert.equal(await bench.page.locator(".tabs-container .tab.dirty").count(), 0, "nothing has changed");
  await bench.clickLens("Replace");
  await bench.lens(/Mirage: replaced/);
  await bench.save();
  await bench.compare();
  await bench.decide("Reject the Kernel");
  await bench.gone("# mirage:");
  await bench.saves(file, original);
}
