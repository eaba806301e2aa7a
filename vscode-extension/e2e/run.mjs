// Runs the scenarios one after the other in one browser. argv: the set-up as JSON, then names of scenarios (none: all).
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import { Workbench } from "./workbench.mjs";

const [given, ...names] = process.argv.slice(2);
const setup = JSON.parse(given);
const { chromium } = createRequire(path.join(setup.tools, "package.json"))("playwright-core");
const here = import.meta.dirname;
const root = path.resolve(here, "../..");
// What VS Code itself says in every run without the network and without accounts.
const HARMLESS = /404|github|builtin extensions|net::ERR|Failed to load resource|punycode|SharedArrayBuffer|service worker/i;
// A panel's files have a name of their own, which the workbench's service worker answers.
const OWN = /(^|\.)(localhost|vscode-resource\.vscode-cdn\.net)$/;

/** A project folder with a file from examples/, or with a text. */
function project(name, example, text) {
  const folder = path.join(setup.folder, "w", name);
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, example);
  if (text === undefined) copyFileSync(path.join(root, "examples", example), file);
  else writeFileSync(file, text);
  return { folder, file };
}

/** What the saved file's function gives beside the original's, in the CPU interpreter. */
function savedFile(file, example, name) {
  const script = path.join(root, "tests/e2e/saved_file.py");
  const env = { ...process.env, TRITON_INTERPRET: "1", OMP_NUM_THREADS: "1" };
  const call = promisify(execFile)(setup.python, [script, file, path.join(root, "examples", example), name], { env, encoding: "utf8", timeout: 200_000 });
  return call.then(({ stdout }) => JSON.parse(stdout));
}

/** Change the profile's settings, as the user does by editing them. */
function settings(change) {
  for (const place of ["User", "Machine"]) {
    const file = path.join(setup.folder, "data", place, "settings.json");
    const all = { ...JSON.parse(readFileSync(file, "utf8")), ...change };
    writeFileSync(file, JSON.stringify(all));
  }
}

function daemon(...words) {
  const code = "import sys; sys.argv[0] = 'mirage'; from mirage.cli import main; main()";
  return execFileSync(setup.python, ["-c", code, "daemon", ...words], { env: { ...process.env, MIRAGE_HOME: setup.home }, encoding: "utf8", timeout: 60_000 });
}

const files = readdirSync(path.join(here, "scenarios")).filter((f) => f.endsWith(".mjs"));
const chosen = (await Promise.all(files.map(async (f) => ({ name: path.basename(f, ".mjs"), ...(await import(`./scenarios/${f}`)) }))))
  .filter((s) => !names.length || names.includes(s.name))
  .sort((a, b) => (a.order ?? 9) - (b.order ?? 9));
const browser = await chromium.launch({
  executablePath: setup.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
const foreign = new Set();
context.on("request", (request) => {
  const { protocol, hostname } = new URL(request.url());
  if (/^https?:/.test(protocol) && hostname !== "127.0.0.1" && !OWN.test(hostname)) foreign.add(hostname);
});
let failed = 0;
let began, mistakes, laps; // of the scenario that runs
let trusted = false; // the shared window's folder is
let main; // the window that scenarios share, in which each opens a file of its own: a workbench takes seconds to start
const later = []; // what a scenario wants looked at in the end, while others run
async function window(pages) {
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("pageerror", (error) => mistakes.push(String(error)));
  page.on("console", (m) => m.type() === "error" && /mirage/i.test(m.text()) && !HARMLESS.test(m.text()) && mistakes.push(m.text()));
  pages.push(page);
  return new Workbench(page, setup, (what) => laps.push(`${what} ${((Date.now() - began) / 1000).toFixed(1)}`));
}

/** The shared window with this file alone. */
async function shared(example, { expect, text } = {}) {
  const { folder, file } = project(`main${failed || ""}`, example, text); // after a failure without what it left behind
  if (main) await main.only(example, expect);
  else {
    const bench = await window([]);
    await bench.open(folder, example, { expect, asks: !trusted });
    trusted = true;
    main = bench;
  }
  return { bench: main, folder, file };
}
for (const scenario of chosen) {
  const pages = [];
  [began, mistakes, laps] = [Date.now(), [], []];
  try {
    const rest = await scenario.run({ window: () => window(pages), shared, project: (name, ...of) => project(`${scenario.name}-${name}`, ...of), savedFile, daemon, settings, setup });
    if (rest) later.push([scenario.name, rest]);
    if (mistakes.length) throw new Error(`the window reported ${mistakes.join("; ").slice(0, 500)}`);
    console.log(`ok   ${scenario.name}: ${scenario.title} (${((Date.now() - began) / 1000).toFixed(1)} s)${setup.times ? `\n     ${laps.join(", ")}` : ""}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${scenario.name}: ${scenario.title} (${((Date.now() - began) / 1000).toFixed(1)} s)\n     ${String(error.stack ?? error).split("\n").slice(0, 6).join("\n     ")}`);
    const seen = main ? [main.page, ...pages] : pages;
    for (const [i, page] of seen.entries()) await page.screenshot({ path: path.join(setup.out, `failed-${scenario.name}-${i + 1}.png`) }).catch(() => undefined);
    await main?.page.close(); // whatever state it is in, the next scenario gets another one
    [main, trusted] = [undefined, false];
  }
  for (const page of pages) await page.close();
}
await browser.close();
for (const [name, look] of later) {
  await look().catch((error) => {
    failed++;
    console.log(`FAIL ${name}, looked at in the end: ${error.message}`);
  });
}
if (foreign.size) {
  failed++;
  console.log(`FAIL the windows asked other machines: ${[...foreign].join(", ")}`);
}
console.log(failed ? `${failed} of ${chosen.length} failed` : `${chosen.length} passed`);
process.exit(failed ? 1 : 0);
