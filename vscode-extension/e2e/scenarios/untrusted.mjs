// A workspace that is not trusted: functions are found, nothing of it runs, no interpreter of it is started; then it is trusted.
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { assert, until } from "../workbench.mjs";

export const order = 4;
export const title = "an untrusted workspace, trusted later";

export async function run({ window, project, settings, setup }) {
  const { folder, file } = project("strange", "layernorm_linear.py");
  const marker = path.join(folder, "marker");
  appendFileSync(file, `\nopen(${JSON.stringify(marker)}, "w").close()\n`);
  const trap = path.join(folder, "bin", "python");
  mkdirSync(path.join(folder, "bin"));
  writeFileSync(trap, `#!/bin/sh\ntouch ${marker}-of-its-python\nexec ${setup.python} "$@"\n`, { mode: 0o755 });
  mkdirSync(path.join(folder, ".vscode"));
  const chosen = path.join(folder, ".vscode", "settings.json");
  writeFileSync(chosen, JSON.stringify({ "mirage.interpreter": trap, "standIn.python": trap }));
  writeFileSync(path.join(folder, "mirage_lsp.py"), `open(${JSON.stringify(marker)}, "w").close()\n`); // found if Python looked here
  settings({ "mirage.interpreter": setup.python }); // outside the workspace
  try {
    const bench = await window();
    await bench.open(folder, "layernorm_linear.py", { expect: "mirage.optimize", trust: false });
    await bench.lens(/not trusted/);
    assert.match(await bench.status(), /not trusted/);
    await bench.settle(2000); // whatever would start by itself
    await bench.picture("untrusted");
    assert.ok(!existsSync(marker) && !existsSync(`${marker}-of-its-python`), "nothing of the workspace ran");

    rmSync(chosen);
    rmSync(path.join(folder, "mirage_lsp.py"));
    await bench.command("Workspaces: Manage Workspace Trust");
    await bench.page.locator(".workspace-trust-editor .trust-settings a, .workspace-trust-editor .monaco-button", { hasText: /^Trust/ }).first().click();
    await bench.page.keyboard.press("Control+1");
    await bench.only("layernorm_linear.py", "mirage.optimize");
    await bench.lens(/Mirage: (queued|tracing|searching|verifying|tuning|keep)|Mirage \d/);
    await until("a status without the warning", async () => !/not trusted/.test(await bench.status()));
    assert.ok(!existsSync(marker), "only the function runs, not its module");
  } finally {
    settings({ "mirage.interpreter": "" });
  }
}
