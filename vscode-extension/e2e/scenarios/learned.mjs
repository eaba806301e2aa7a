// A function that says no shapes: a run tells them, an action writes them down. It is measured again; its kernel goes into a
// module beside the file, and the original comes back.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { until } from "../workbench.mjs";

export const order = 3;
export const title = "shapes from a run, measuring again, a module beside the file";

export const head = "import mirage\nimport torch\n\n\n@mirage.optimize\ndef scaled(x):\n    return torch.relu(x * 5)\n";

export async function run({ shared, setup }) {
  const text = `${head}\n\nif __name__ == "__main__":\n    scaled(torch.ones(16, 64, dtype=torch.float16))\n`;
  const { bench, file, folder } = await shared("scaled.py", { expect: "mirage.optimize", text });
  await bench.lens(/MIR105/);
  execFileSync(setup.python, [file], { env: { ...process.env, MIRAGE_HOME: setup.home }, timeout: 60_000 });
  await bench.sees("called with x 16×64 fp16");
  await bench.lens(/Mirage: (queued|tracing|searching|verifying)|Mirage \d/);
  await bench.picture("learned");
  await bench.action("def scaled", "scaled", "annotat");
  await bench.sees('def scaled(x: Float16[torch.Tensor, "16 64"])');
  await bench.sees("from jaxtyping import Float16");
  await bench.save();
  await bench.lens(/Replace/);
  await until("no hint any more", async () => !(await bench.page.locator(".view-lines").first().innerText()).includes("called with"));
  await until("the annotations in the file", () => readFileSync(file, "utf8").includes('"16 64"'));
  const annotated = readFileSync(file);

  await bench.command("Mirage: Measure the Function Again");
  await bench.lens(/Mirage: (queued|tracing|searching|verifying|tuning)/);
  await bench.lens(/Mirage \d[^|]*\| Replace/);

  await bench.command("Mirage: Write the Kernel to a Module and Import It");
  await bench.sees("from scaled_mirage import scaled");
  const module = path.join(folder, "scaled_mirage.py");
  await until("the module", async () => {
    await bench.command("File: Save All Files");
    await bench.settle();
    return readFileSync(module, "utf8").includes("def scaled(");
  });
  await until("its import", () => readFileSync(file, "utf8").includes("# mirage:end scaled"));
  execFileSync(setup.python, ["-c", "import sys, runpy; sys.argv[0] = sys.argv[1]; runpy.run_path(sys.argv[1], run_name='__main__'); assert 'scaled_mirage' in sys.modules", file], {
    cwd: folder,
    env: { ...process.env, MIRAGE_HOME: setup.home, PYTHONPATH: folder, MIRAGE_RUNTIME: "off" },
    timeout: 60_000,
  });
  await bench.picture("module");
  await bench.only("scaled.py", "# mirage:begin scaled");
  await bench.clickLens("Restore");
  await bench.gone("# mirage:"); // the block quotes the original: its text on the screen does not say that it is back
  await bench.sees("@mirage.optimize");
  await bench.saves(file, annotated);
}
