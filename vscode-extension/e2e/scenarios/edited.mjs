// An edit inside a replaced function voids its verdict, is said at once, and is forgotten when it is undone.
import { until } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "an edit inside the kernel is seen";

export async function run({ shared }) {
  const { bench } = await shared("edited.py", { expect: "mirage.optimize", text: scaled });
  await bench.lens(/Replace \| More/);
  await bench.clickLens("Replace");
  await bench.lens(/Mirage: replaced/);
  await bench.save();
  await bench.typeBehind("@triton.jit", "  # mine");
  await bench.top();
  await bench.lens(/edited by hand, verdict void \| Verify again \| Restore/);
  await until("the warning beside the line", async () => (await bench.marks("warning")) === 1);
  await bench.picture("edited");
  await until("what was replaced, by undoing the edit", async () => {
    if ((await bench.lenses()).some((text) => /Mirage: replaced/.test(text))) return true;
    await bench.page.keyboard.press("Control+Z");
    await bench.settle(1000);
    return false;
  });
  await until("no warning", async () => (await bench.marks("warning")) === 0);
  await bench.save(); // a blank that is still to be undone is no edit
}
