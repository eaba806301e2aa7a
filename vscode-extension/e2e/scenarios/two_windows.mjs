// Two windows with the same function in two projects: one daemon, one job; one of them stops, the other gets its answer.
import { assert } from "../workbench.mjs";

export const order = 3;
export const title = "two windows on one daemon";

export async function run({ shared, window, project, daemon }) {
  const [name, working] = ["qknorm_attention.py", /Mirage: (queued|tracing|searching|verifying)/];
  const right = await window();
  await right.open(project("second", name).folder, name, { expect: "import mirage" });
  await right.lens(working);
  const { bench: left } = await shared(name, { expect: "import mirage" });
  await left.lens(working);
  const { jobs } = JSON.parse(daemon("status", "--json"));
  assert.deepEqual(jobs.map((job) => [job.function, job.wanted - job.saves]), [["qknorm_attention", 2]]);
  await left.clickLens("Stop");
  await left.lens(/Mirage: stopped/);
  await right.lens(/Replace/, 90_000);
  await left.clickLens("Optimize");
  await left.lens(/Replace/, 10_000); // known by now
}
