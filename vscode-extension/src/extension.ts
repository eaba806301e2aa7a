/** Mirage for VS Code: the parts are made and wired here. All that is known of a function comes from the language server. */
import * as vscode from "vscode";
import * as commands from "./commands";
import { Documents } from "./documents";
import { Gutter } from "./gutter";
import * as interpreter from "./interpreter";
import { Jobs } from "./jobs";
import { Panels } from "./panel";
import { Server } from "./server";
import { Status } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("Mirage", { log: true });
  const trace = vscode.window.createOutputChannel("Mirage Trace", { log: true });
  const made = (server = new Server(context, log, trace));
  const documents = new Documents();
  const panels = new Panels(context, made, documents);
  const jobs = new Jobs(made, documents);
  context.subscriptions.push(log, trace, documents, panels, jobs, new Status(made), new Gutter(context, made));
  context.subscriptions.push(...commands.register(made, panels, documents, jobs));
  made.window.onDidChange(() => {
    if (made.window.all().some((d) => d.functions.some((f) => f.result))) void vscode.commands.executeCommand("setContext", "mirage.found", true);
  });
  context.subscriptions.push(interpreter.onDidSelect(() => void made.reconsider()));
  await made.restart("the extension was activated");
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}
