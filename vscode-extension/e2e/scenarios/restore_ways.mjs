// Restoring an edited kernel asks: keep the edit, the kernel as it was verified, or the function byte for byte.
import { readFileSync } from "node:fs";
import { assert } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "restore in three ways";

export async function run({ shared }) {
  const { bench, file } = await shared("ways.py", { expect: "mirage.optimize", text: scaled });
  const original = readFileSync(file);
  await bench.lens(/Replace \| More/);
  await bench.clickLens("Replace");
  await bench.lens(/Mirage: replaced/);
  await bench.save();
  const verified = readFileSync(file);
  await bench.typeBehind("@triton.jit", "  # mine");
  await bench.top();
  await bench.lens(/edited by hand/);
  await bench.save();
  const edited = readFileSync(file);
  assert.ok(edited.includes("@triton.jit  # mine"));

  await bench.clickLensThat("Restore");
  await bench.picture("restore");
  await bench.answer("Keep the edit");
  await bench.lens(/edited by hand/);
  await bench.saves(file, edited);
  await bench.clickLensThat("Restore");
  await bench.answer("Restore the kernel");
  await bench.lens(/Mirage: replaced/);
  await bench.saves(file, verified);
  await bench.typeBehind("@triton.jit", "  # mine");
  await bench.top();
  await bench.lens(/edited by hand/);
  await bench.clickLensThat("Restore");
  await bench.answer("Restore the function");
  await bench.gone("# mirage:");
  await bench.saves(file, original);
}
