/** The status item, and the menu that it opens. */
import * as vscode from "vscode";
import type { Health, Server } from "./server";

const TEXTS: Record<Health, [string, string]> = {
  starting: ["$(loading~spin) Mirage", "starting"],
  running: ["$(zap) Mirage", "running"],
  missing: ["$(error) Mirage: not installed", "no interpreter has Mirage"],
  restricted: ["$(shield) Mirage: restricted", "the workspace is not trusted, and no interpreter outside it has Mirage"],
  stopped: ["$(warning) Mirage: stopped", "the language server does not run"],
};

export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("mirage.status", vscode.StatusBarAlignment.Right, 90);
  private readonly watching: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.item.name = "Mirage";
    this.item.command = "mirage.menu";
    this.watching = [server.onDidChange(() => this.show()), server.window.onDidChange(() => this.show())];
    this.show();
    this.item.show();
  }

  private show(): void {
    const { health, found, window } = this.server;
    const [text, said] = TEXTS[health];
    this.item.text = health === "running" && window.running ? `$(sync~spin) Mirage ${window.running}` : text;
    const where = health === "running" && found ? `Mirage ${found.version}, ${found.command} (from ${found.from})` : `Mirage: ${said}`;
    const trust = vscode.workspace.isTrusted ? "" : "\nThe workspace is not trusted: cached results only, nothing runs.";
    this.item.tooltip = `${where}${trust}`;
    this.item.backgroundColor = health === "missing" || health === "stopped" ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.accessibilityInformation = { label: `Mirage, ${said}. ${where}${trust}`.replace(/\n/g, ". ") };
  }

  dispose(): void {
    for (const one of [this.item, ...this.watching]) one.dispose();
  }
}

/** The rows that make sense now: an icon and a title, the command, what is said beside it. */
export function rows(server: Server, python: boolean): [string, string, string?][] {
  const shown: [string, string, string?][] = [];
  if (server.health === "restricted" || (!vscode.workspace.isTrusted && server.running))
    shown.push(["$(shield) Manage workspace trust", "workbench.trust.manage", "nothing of this workspace runs"]);
  if (server.health === "missing") shown.push(["$(cloud-download) Install Mirage", "mirage.install"]);
  if (server.running && python) {
    shown.push(["$(play) Optimize the file", "mirage.optimizeFile"]);
    if (server.window.running) shown.push(["$(debug-stop) Stop the file's searches", "mirage.stopFile", `${server.window.running} running`]);
    shown.push(["$(type-hierarchy) Show the µGraph", "mirage.openMugraph"], ["$(verified) Show the proof", "mirage.openProof"], ["$(diff) Compare with the kernel", "mirage.diff"]);
  }
  shown.push(
    ["$(list-tree) Jobs and cache", "mirage.jobs.focus"],
    ["$(symbol-method) Select the interpreter", "mirage.selectInterpreter", server.found?.command],
    ["$(checklist) Check the installation", "mirage.check"],
    ["$(refresh) Restart the language server", "mirage.restart"],
    ["$(output) Show the log", "mirage.showLog"],
    ["$(gear) Settings", "mirage.settings"],
    ["$(book) Get started", "mirage.walkthrough"],
  );
  return shown;
}

export async function menu(server: Server): Promise<void> {
  const python = vscode.window.activeTextEditor?.document.languageId === "python";
  const items = rows(server, python).map(([label, command, description]) => ({ label, command, description }));
  const chosen = await vscode.window.showQuickPick(items, { title: "Mirage", placeHolder: `The language server is ${TEXTS[server.health][1]}` });
  if (chosen) await vscode.commands.executeCommand(chosen.command);
}
