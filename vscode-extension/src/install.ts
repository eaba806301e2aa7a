/** What is missing, and the fix. */
import * as vscode from "vscode";
import * as interpreter from "./interpreter";
import type { Server } from "./server";

const DOCTOR = "from mirage.cli import main; main()";

interface Row {
  name: string;
  value: string;
  ok: boolean;
  next: string;
}

/** `mirage doctor`, as rows with their next steps; the interpreters that were tried, where none has Mirage. */
export async function check(server: Server): Promise<void> {
  const found = server.found ?? (await interpreter.find(vscode.workspace.workspaceFolders?.[0]?.uri, server.folder)).found;
  if (!found) return offer(server);
  const call = found.python ? ([found.python, ["-c", DOCTOR, "doctor", "--json"]] as const) : ([found.command, ["doctor", "--json"]] as const);
  const answer = await interpreter.run(call[0], [...call[1]], server.folder);
  const rows = parsed(answer.text);
  if (!rows) {
    server.log.error(`doctor: ${answer.error ?? answer.text}`);
    void vscode.window.showErrorMessage(`Mirage: the check failed: ${answer.error ?? "no rows"}`);
    return;
  }
  const items = rows.map((row) => ({
    label: `${row.ok ? "$(pass)" : "$(error)"} ${row.name}`,
    description: row.value,
    detail: row.ok ? undefined : row.next,
    row,
  }));
  const missing = rows.filter((row) => !row.ok).length;
  const title = missing ? `Mirage: ${missing} missing; choose one to mend it` : "Mirage: nothing is missing";
  const chosen = await vscode.window.showQuickPick(items, { title, matchOnDescription: true });
  const needed = chosen && !chosen.row.ok ? /^pip install '?([^'()]+?)'?(?: \(|$)/.exec(chosen.row.next)?.[1] : undefined;
  if (needed && found.python) terminal(found.python, needed);
}

/** Offer to install Mirage itself. */
export async function offer(server: Server): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    const chosen = await vscode.window.showWarningMessage("Mirage: in a workspace that is not trusted, only an interpreter outside it is started.", "Manage Workspace Trust");
    if (chosen) await vscode.commands.executeCommand("workbench.trust.manage");
    return;
  }
  const python = server.tried.find((one) => !one.path.endsWith("mirage"))?.path;
  const why = server.tried.map((one) => `${one.path}: ${one.why}`).join("; ") || "no Python was found";
  const install = python ? [`Install into ${python}`] : [];
  const chosen = await vscode.window.showWarningMessage(`Mirage is not installed (${why}).`, ...install, "Select the Interpreter", "Show the Log");
  if (chosen === "Select the Interpreter") await select(server);
  else if (chosen === "Show the Log") server.log.show();
  else if (chosen && python) terminal(python, "mirage-superoptimizer");
}

/** Choose a Python for the setting `mirage.interpreter`. */
export async function select(server: Server): Promise<void> {
  const known = await interpreter.candidates(vscode.workspace.workspaceFolders?.[0]?.uri);
  const items = [
    ...known.map((one) => ({ label: one.path, description: `from ${one.from}` })),
    { label: "$(folder) Browse…", description: "" },
    ...(vscode.extensions.getExtension("ms-python.python") ? [{ label: "$(symbol-method) In the Python extension…", description: "" }] : []),
  ];
  const chosen = await vscode.window.showQuickPick(items, { title: "Mirage: the Python in which Mirage is installed" });
  if (!chosen) return;
  if (chosen.label.includes("Python extension")) return void vscode.commands.executeCommand("python.setInterpreter");
  let path: string | undefined = chosen.label;
  if (path.includes("Browse")) path = (await vscode.window.showOpenDialog({ title: "A Python interpreter" }))?.[0]?.fsPath;
  const target = vscode.workspace.workspaceFolders ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  if (path) await vscode.workspace.getConfiguration("mirage").update("interpreter", path, target);
  await server.restart("an interpreter was selected");
}

function parsed(text: string): Row[] | undefined {
  try {
    return JSON.parse(text) as Row[];
  } catch {
    return undefined;
  }
}

/** In a terminal, where the user sees it and has to press Enter. */
function terminal(python: string, requirement: string): void {
  const shell = vscode.window.createTerminal({ name: "Mirage" });
  shell.show();
  shell.sendText(`"${python}" -m pip install "${requirement}"`, false);
}
