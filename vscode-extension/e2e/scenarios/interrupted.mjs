// What goes wrong on the way: the user stops it, types through it, the daemon is killed in the middle of it.
import { assert, until } from "../workbench.mjs";

export const order = 2;
export const title = "stop, a syntax error while typing, the daemon killed and back";

// One that takes long enough (20 s on two cores) to be met at work: slices of one weight.
const text = `import torch
import torch.nn.functional as F

import mirage


@mirage.optimize(inputs=[((8, 2048), "fp16"), ((2048,), "fp16"), ((3072, 2048), "fp16")])
def projections(x, g, w):
    h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g
    q, k, v = F.linear(h, w).split([2048, 512, 512], dim=-1)
    return q, k, v
`;

export async function run({ shared, daemon }) {
  const { bench } = await shared("projections.py", { expect: "mirage.optimize", text });
  await bench.clickLens("Stop");
  await bench.lens(/Mirage: stopped.*Optimize/);
  await bench.row(/^nothing runs/);
  await bench.lens(/Mirage: stopped/);
  await bench.picture("stopped");

  await bench.clickLens("Optimize");
  await bench.row(/^projections ?(queued|tracing|searching|verifying|tuning).*projections\.py/);
  await bench.lens(/Mirage: (tracing|searching|verifying|tuning)/);
  await bench.picture("jobs");
  const before = JSON.parse(daemon("status", "--json"));
  assert.equal(before.jobs.length, 1);
  process.kill(before.pid, "SIGKILL");
  await bench.lens(/Replace/, 240_000);
  assert.notEqual(JSON.parse(daemon("status", "--json")).pid, before.pid);
  const found = await bench.lens(/Mirage \d/);

  // Half a line more: the answer stays, as an old one or as it is, and comes back whole with the text.
  await bench.type("return", "return", " +");
  await bench.lens(/stale|MIR101|Mirage \d/);
  await until("the syntax error in the problems", async () => /Problems.*[1-9]|1/.test(await bench.page.locator(".statusbar-item[id='status.problems']").innerText()));
  await bench.picture("typing");
  await bench.page.keyboard.press("Backspace");
  await bench.page.keyboard.press("Backspace");
  assert.equal(await bench.lens(/Mirage \d[^|]*\| Replace/), found);
  await bench.save();
}
