// More beside the lens, the comparison, Accept in its title: the kernel is in the file; one undo takes it out.
import { readFileSync } from "node:fs";
import { assert, until } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "compare and accept";

export async function run({ shared }) {
  const { bench, file } = await shared("accepted.py", { expect: "mirage.optimize", text: scaled });
  const original = readFileSync(file);
  await bench.lens(/Mirage \d+\.\dx.* \| Replace \| More/);
  await bench.compare();
  await bench.picture("diff");
  await bench.decide("Accept the Kernel");
  await bench.sees("# mirage:begin scaled");
  await bench.lens(/Mirage: replaced, \d+\.\dx.* \| Restore \| More/);
  assert.ok((await bench.marks("tested")) + (await bench.marks("proved")) === 1, "the mark is beside the block");
  await bench.save();
  await until("the kernel in the file", () => readFileSync(file, "utf8").includes("# mirage:end scaled"));
  await bench.picture("accepted");
  await bench.page.keyboard.press("Control+Z");
  await bench.gone("# mirage:");
  await bench.saves(file, original);
}
