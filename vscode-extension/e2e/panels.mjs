// The proof panel's script with a document of its own, without an editor: what it shows of a kernel that is refused.
import assert from "node:assert/strict";
import path from "node:path";
import { runInNewContext } from "node:vm";
import { build } from "esbuild";

class Element {
  children = [];
  classList = { add() {}, remove() {} };
  constructor(tag) {
    this.tag = tag;
  }
  setAttribute() {}
  addEventListener() {}
  append(...children) {
    this.children.push(...children);
  }
  replaceChildren(...children) {
    this.children = children;
  }
  /** This element and all in it, of one kind. */
  all(tag) {
    const inside = this.children.flatMap((child) => (child instanceof Element ? child.all(tag) : []));
    return this.tag === tag ? [this, ...inside] : inside;
  }
  get texts() {
    return this.children.filter((child) => typeof child === "string");
  }
}

const root = new Element("main");
const heard = {};
const entry = path.join(import.meta.dirname, "../webview/proof.ts");
const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, platform: "browser", target: "es2022", format: "iife" });
runInNewContext(outputFiles[0].text, {
  document: { createElement: (tag) => new Element(tag), getElementById: (id) => (id === "root" ? root : null) },
  window: { addEventListener: (name, listener) => (heard[name] = listener) },
  acquireVsCodeApi: () => ({ postMessage() {}, getState() {}, setState() {} }),
});

/** The panel after the answer of `mirage.result` with these refusals. */
function panel(refused, kernels = []) {
  const verdict = { word: "REJECTED", headline: "REJECTED", bound: null, links: {}, evidence: [], trusted: [], notes: [] };
  heard.message({ data: { name: "f", headline: "REJECTED", stale: false, state: "done", pictures: [], refused, result: { answer: "kernel", verdict, derivation: null, estimate: null, kernels, remarks: [], notes: [] } } });
  const lines = root.all("li").flatMap((line) => line.texts);
  return { lines, titled: root.all("h2").some((title) => title.texts.includes("Refused")) };
}

const row = (output, ...shown) => ({ link: "text", opinion: "field", says: `output ${output} differs`, shown });
const said = ["output 0 at (1, 2): 3 and <b>4</b> (sizes {'n': 4}, seed 7)", "in floats: output 1 at (0,): 1.0 and nan"];
const both = panel([row(0, said[0]), row(1, said[1])]);
assert.ok(both.titled);
assert.deepEqual(both.lines, ["text, field: output 0 differs", said[0], "text, field: output 1 differs", said[1]]);
assert.deepEqual(panel([row(1)]).lines, ["text, field: output 1 differs"]);
assert.deepEqual(panel([]), { lines: [], titled: false });
const cells = () => root.all("td").flatMap((cell) => cell.texts);
assert.ok(!cells().includes("f_kernel"));
panel([], [{ name: "f_kernel", grid: [4, 2], loops: [{ dim: "k", range: 8, tile: 64 }], shared_bytes: 512, registers: null, spill_bytes: 0 }]);
for (const shown of ["f_kernel", "4 × 2", "k 8 × 64", "512 B", "not compiled", "0 B"]) assert.ok(cells().includes(shown), shown);
