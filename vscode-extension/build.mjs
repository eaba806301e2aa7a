// dist/extension.js runs in VS Code's extension host, dist/mugraph.js and dist/proof.js in the panels.
import { copyFileSync } from "node:fs";
import { build } from "esbuild";

copyFileSync("../LICENSE", "LICENSE"); // the package has it too

const common = { bundle: true, minify: true, sourcemap: false, logLevel: "warning" };
await build({ ...common, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", platform: "node", target: "node20", format: "cjs", external: ["vscode"] });
await build({ ...common, entryPoints: ["webview/mugraph.ts", "webview/proof.ts"], outdir: "dist", platform: "browser", target: "es2022", format: "iife" });
