// Two windows with the same function in two projects: one daemon, one job; one of them stops, the other gets its answer.
import { assert } from "../workbench.mjs";

export const order = 3;
export const title = "two windows on one daemon";

export async function run({ window, project, daemon }) {
  const [one, two] = [project("qknorm_attention.py", "first"), project("qknorm_attention.py", "second")];
  const [left, right] = [await window(), await window()];
  const look = async (bench, { folder }) => {
    await bench.open(folder, "qknorm_attention.py", { expect: "import mirage" });
    await bench.lens(/Mirage: (queued|tracing|searching|verifying)/);
  };
  await Promise.all([look(left, one), look(right, two)]);
  const { jobs } = JSON.parse(daemon("status", "--json"));
  assert.deepEqual(jobs.map((job) => [job.function, job.wanted]), [["qknorm_attention", 2]]);
  await left.clickLens("Stop");
  await left.lens(/Mirage: stopped/);
  await right.lens(/Replace with the kernel/, 90_000);
  await left.clickLens("Optimize");
  await left.lens(/Replace with the kernel/, 10_000); // known by now
}
