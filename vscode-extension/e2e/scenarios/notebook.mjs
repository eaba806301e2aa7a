// The cells of a notebook are read as one text: a function in one of them, its imports in another.
import { assert } from "../workbench.mjs";

export const order = 4;
export const title = "a notebook's cell: lens, replace, restore";

export async function run({ shared }) {
  const cell = (text) => ({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: text.split(/(?<=\n)/) });
  // as the scenario `learned` leaves it: its answer is known
  const body = '@mirage.optimize\ndef scaled(x: Float16[torch.Tensor, "16 64"]):\n    return torch.relu(x * 5)';
  const text = JSON.stringify({
    cells: [cell("import mirage\nimport torch"), cell("from jaxtyping import Float16"), cell(body)],
    metadata: { kernelspec: { display_name: "Python 3", language: "python", name: "python3" }, language_info: { name: "python" } },
    nbformat: 4,
    nbformat_minor: 5,
  });
  const { bench } = await shared("cells.ipynb", { expect: "mirage.optimize", text });
  await bench.lens(/Replace/);
  await bench.picture("notebook");
  await bench.clickLens("Replace");
  await bench.sees("# mirage:begin scaled");
  const said = await bench.lens(/Restore/);
  assert.match(said, /Mirage/);
  await bench.clickLens("Restore");
  await bench.sees("@mirage.optimize");
  await bench.lens(/Replace/);
  await bench.save();
}
