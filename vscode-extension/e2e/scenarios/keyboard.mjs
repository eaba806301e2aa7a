// Everything without the mouse: to the function, compare, accept, restore.
import { readFileSync } from "node:fs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "by the keyboard alone";

export async function run({ shared }) {
  const { bench, file } = await shared("keys.py", { expect: "mirage.optimize", text: scaled });
  const original = readFileSync(file);
  const { keyboard } = bench.page;
  await bench.lens(/Replace \| More/);
  await keyboard.press("Control+1");
  await keyboard.press("Control+Home");
  for (let line = 0; line < 5; line++) await keyboard.press("ArrowDown");
  const chord = async (key) => {
    await keyboard.press("Control+Alt+M");
    await keyboard.press(key);
  };
  await chord("d");
  await bench.compared();
  await chord("a");
  await bench.lens(/Mirage: replaced/);
  await bench.save();
  await bench.command("Mirage: Restore the Original Function");
  await bench.gone("# mirage:");
  await bench.saves(file, original);
}
