/** The commands of the palette and the menus. Those that mean a function take the one at the cursor. */
import * as vscode from "vscode";
import type { Documents } from "./documents";
import * as install from "./install";
import type { Jobs } from "./jobs";
import type { Panels } from "./panel";
import type { Answer } from "./result";
import type { Server } from "./server";
import { menu } from "./status";

interface Place {
  uri: vscode.Uri;
  name: string;
}

export function register(server: Server, panels: Panels, documents: Documents, jobs: Jobs): vscode.Disposable[] {
  const here = (given?: unknown, name?: unknown) => place(server, given, name);
  const diff = async (at: Place) => {
    const answer = await server.ask<Answer>("mirage.result", at.uri.toString(), at.name);
    if (answer) await documents.diff(at.uri, at.name, replaced(at), answer);
  };
  const replaced = (at: Place) => server.window.of(at.uri).some((f) => f.name === at.name && f.block);
  // The comparison's two buttons: after either the file holds what was chosen.
  const decide = (accept: boolean) => async () => {
    const at = documents.compared;
    if (!at) return;
    await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    if (accept !== at.replaced) await server.ask(accept ? "mirage.replace" : "mirage.restore", at.uri.toString(), at.name);
    await vscode.window.showTextDocument(at.uri);
  };
  const onFunction = (act: (at: Place) => unknown) => async (uri?: unknown, name?: unknown) => {
    const at = await here(uri, name);
    if (at) await act(at);
  };
  const verify = onFunction((at) =>
    vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: `Mirage: verifying ${at.name} as it was edited` }, () =>
      server.ask("mirage.verifyAgain", at.uri.toString(), at.name),
    ),
  );
  const tell = (command: string) => onFunction((at) => server.ask(command, at.uri.toString(), at.name));
  const onFile = (command: string) => () => {
    const uri = vscode.window.activeTextEditor?.document.uri;
    return uri && server.ask(command, uri.toString());
  };
  // A lens or a code action that would show a text opens the panel instead.
  server.instead.set("mirage.showMugraph", onFunction((at) => panels.show("mugraph", at.uri, at.name)));
  server.instead.set("mirage.showProof", onFunction((at) => panels.show("proof", at.uri, at.name)));
  server.instead.set("mirage.verifyAgain", verify);
  server.instead.set("mirage.more", onFunction((at) => more(server, at)));
  const commands: Record<string, (...args: any[]) => unknown> = {
    "mirage.menu": () => menu(server),
    "mirage.optimizeFunction": tell("mirage.optimize"),
    "mirage.replaceFunction": tell("mirage.replace"),
    "mirage.restoreFunction": tell("mirage.restore"),
    "mirage.toModule": tell("mirage.writeModule"),
    "mirage.measureFunction": tell("mirage.measure"),
    "mirage.optimizeFile": onFile("mirage.optimize"),
    "mirage.stopFile": onFile("mirage.stop"),
    "mirage.openMugraph": onFunction((at) => panels.show("mugraph", at.uri, at.name)),
    "mirage.openProof": onFunction((at) => panels.show("proof", at.uri, at.name)),
    "mirage.diff": onFunction(diff),
    "mirage.accept": decide(true),
    "mirage.reject": decide(false),
    "mirage.verifyFunction": verify,
    "mirage.restoreKernelOfFunction": tell("mirage.restoreKernel"),
    "mirage.restart": () => server.restart("it was asked for"),
    "mirage.selectInterpreter": () => install.select(server),
    "mirage.check": () => install.check(server),
    "mirage.install": () => install.offer(server),
    "mirage.showLog": () => server.log.show(),
    "mirage.settings": () => vscode.commands.executeCommand("workbench.action.openSettings", "mirage."),
    "mirage.walkthrough": () => vscode.commands.executeCommand("workbench.action.openWalkthrough", "mirage-superoptimizer.mirage#start", false),
    "mirage.showCached": (key) => typeof key === "string" && jobs.show(key),
    "mirage.refreshJobs": () => jobs.refresh(),
  };
  return Object.entries(commands).map(([name, act]) => vscode.commands.registerCommand(name, act));
}

/** What a lens has no room for. */
async function more(server: Server, at: Place): Promise<void> {
  const known = server.window.of(at.uri).find((f) => f.name === at.name);
  const rows: [boolean, string, string][] = [
    [true, "$(diff) Compare, then accept or reject", "mirage.diff"],
    [true, "$(type-hierarchy) Show the µGraph", "mirage.openMugraph"],
    [true, "$(verified) Show the proof and the details", "mirage.openProof"],
    [known?.kernel === true, "$(new-file) Write the kernel to a module and import it", "mirage.toModule"],
    [known?.block === false, "$(watch) Measure again", "mirage.measureFunction"],
  ];
  const items = rows.filter(([there]) => there).map(([, label, command]) => ({ label, command }));
  const chosen = await vscode.window.showQuickPick(items, { title: `Mirage: ${at.name}`, placeHolder: known?.title });
  if (chosen) await vscode.commands.executeCommand(chosen.command, at.uri.toString(), at.name);
}

/** The function that is named, or the one at the cursor, or the file's only one, or the one that the user picks. */
async function place(server: Server, given: unknown, name: unknown): Promise<Place | undefined> {
  if (typeof given === "string" && typeof name === "string") return { uri: vscode.Uri.parse(given), name };
  const editor = vscode.window.activeTextEditor;
  const uri = editor?.document.uri;
  const functions = uri ? server.window.of(uri) : [];
  const line = editor?.selection.active.line ?? -1;
  const at = functions.find((f) => f.line <= line && line <= f.endLine) ?? (functions.length === 1 ? functions[0] : undefined);
  if (uri && at) return { uri, name: at.name };
  if (!uri || !functions.length) {
    void vscode.window.showInformationMessage("Mirage: the active editor has no function decorated with @mirage.optimize.");
    return undefined;
  }
  const chosen = await vscode.window.showQuickPick(functions.map((f) => ({ label: f.name, description: f.title })), { title: "Mirage: which function?" });
  return chosen && { uri, name: chosen.label };
}
