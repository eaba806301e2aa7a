// A window of 1280 pixels and a function with a long name: the lens's commands and the hover are on the screen.
import { assert, until } from "../workbench.mjs";
import { scaled } from "../scaled.mjs";

export const order = 4;
export const title = "long names at 1280 pixels";

const name = "scaled_and_rectified_activations_of_the_second_projection_of_the_gate";

export async function run({ shared }) {
  const { bench } = await shared("narrow.py", { expect: "mirage.optimize", text: scaled.replace("def scaled(", `def ${name}(`) });
  await bench.lens(/Replace \| More/);
  const { width, height } = bench.page.viewportSize();
  assert.equal(width, 1280);
  const inside = (box) => box && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
  for (const title of ["Replace", "More"]) {
    const box = await bench.page.locator(".codelens-decoration a", { hasText: title }).first().boundingBox();
    assert.ok(inside(box), `${title} at ${JSON.stringify(box)}`);
  }
  await bench.hover("@mirage.optimize", "optimize", /Verdict/);
  await bench.picture("narrow");
  const text = bench.page.locator(".monaco-hover:not(.hidden) .hover-contents", { hasText: "Verdict" }).first();
  await until("the whole hover", async () => inside(await text.boundingBox()));
  await bench.away();
}
