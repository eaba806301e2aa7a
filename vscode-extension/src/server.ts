/** The language server's life: find an interpreter, start, restart, tell what is wrong. Activation never fails because of it. */
import { mkdirSync } from "node:fs";
import * as vscode from "vscode";
import { LanguageClient, State, Trace, type LanguageClientOptions } from "vscode-languageclient/node";
import * as interpreter from "./interpreter";
import { Window, type States } from "./state";

export type Health = "starting" | "running" | "missing" | "restricted" | "stopped";

/** Settings that need another process, and those that a running server takes too. */
const AT_START = ["interpreter", "startDaemon"];
const LIVE = ["auto", "target", "debounceMs", "inlayHints", "codeLens"];

function settings(): string {
  const all = vscode.workspace.getConfiguration("mirage");
  return JSON.stringify(AT_START.map((key) => all.get(key)));
}

export class Server implements vscode.Disposable {
  readonly window = new Window();
  health: Health = "stopped";
  found: interpreter.Found | undefined;
  tried: interpreter.Candidate[] = [];
  /** Commands whose place the extension takes: a panel instead of a text. */
  readonly instead = new Map<string, (...args: unknown[]) => unknown>();
  private client: LanguageClient | undefined;
  private begunWith = "";
  private turn: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
    private readonly trace: vscode.LogOutputChannel,
  ) {
    context.subscriptions.push(
      this.window,
      this.emitter,
      vscode.workspace.onDidChangeConfiguration((e) => {
        // In a remote window the user's settings arrive after the activation.
        if (e.affectsConfiguration("mirage") && this.begunWith !== settings()) this.restartSoon("a setting changed");
        if (e.affectsConfiguration("mirage.trace.server")) void this.setTrace();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.trust()),
    );
  }

  /** A folder of the extension's own, in which Python is started. */
  get folder(): string {
    const folder = this.context.globalStorageUri.fsPath;
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  /** Start, or start anew; one after the other however often it is asked for. */
  restart(why: string): Promise<void> {
    this.turn = this.turn.then(async () => {
      this.log.info(`starting: ${why}`);
      await this.end();
      await this.begin();
    });
    return this.turn;
  }

  /** Another environment may have been selected: start anew if it is another one than runs. */
  async reconsider(): Promise<void> {
    await this.turn;
    if (this.timer) return; // it starts anew in a moment, and looks then
    const { found } = await interpreter.find(vscode.workspace.workspaceFolders?.[0]?.uri, this.folder);
    if (found?.command !== this.found?.command || !this.running) this.restartSoon("another environment was selected");
  }

  restartSoon(why: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.restart(why);
    }, 200);
  }

  /** A command of the server. Its mistakes are shown by the server itself; undefined then, and while it does not run. */
  async ask<T>(command: string, ...args: unknown[]): Promise<T | undefined> {
    if (!this.client || !this.running) {
      void vscode.window.showWarningMessage("Mirage: the language server does not run.", "Check the Installation").then((x) => x && vscode.commands.executeCommand("mirage.check"));
      return undefined;
    }
    const answer = await this.client.sendRequest<(T & { error?: { message: string } }) | null>("workspace/executeCommand", { command, arguments: args });
    return answer && !answer.error ? answer : undefined;
  }

  dispose(): Promise<void> {
    clearTimeout(this.timer);
    return this.turn.then(() => this.end());
  }

  private set(health: Health): void {
    this.health = health;
    void vscode.commands.executeCommand("setContext", "mirage.running", health === "running");
    this.emitter.fire();
  }

  private async begin(): Promise<void> {
    this.set("starting");
    this.begunWith = settings();
    const { found, tried } = await interpreter.find(vscode.workspace.workspaceFolders?.[0]?.uri, this.folder);
    [this.found, this.tried] = [found, tried];
    for (const one of tried) this.log.info(`${one.path} (from ${one.from}): ${one.why || "has Mirage"}`);
    if (!found) {
      const held = tried.some((one) => one.why.includes("not trusted"));
      this.log.warn(held ? "no interpreter outside the workspace has Mirage" : "no interpreter has Mirage");
      this.set(held ? "restricted" : "missing");
      return;
    }
    const client = new LanguageClient("mirage", "Mirage", this.how(found), this.options(found));
    client.onNotification("mirage/states", (states: States) => this.window.tell(states));
    client.onDidChangeState(({ newState }) => {
      if (this.client !== client) return;
      if (newState === State.Stopped) this.window.clear();
      this.set(newState === State.Running ? "running" : newState === State.Starting ? "starting" : "stopped");
    });
    this.client = client;
    try {
      await client.start();
      await this.setTrace();
      this.log.info(`Mirage ${found.version} runs: ${found.command} ${found.args.join(" ")}`);
    } catch (error) {
      this.log.error(`the language server did not start: ${error}`);
      this.set("stopped");
    }
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.window.clear();
    try {
      await client?.dispose(3000);
    } catch (error) {
      this.log.info(`the language server did not end by itself: ${error}`);
    }
  }

  private how(found: interpreter.Found) {
    // Not in the workspace's folder: Python would look for modules there.
    const env = { ...process.env, PYTHONUTF8: "1", PYTHONSAFEPATH: "1" };
    return { command: found.command, args: found.args, options: { cwd: this.folder, env } };
  }

  private options(found: interpreter.Found): LanguageClientOptions {
    const settings = vscode.workspace.getConfiguration("mirage");
    return {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "vscode-notebook-cell", language: "python" },
      ],
      outputChannel: this.log,
      traceOutputChannel: this.trace,
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        states: true,
        interpreter: found.python,
        commandLinks: true,
        compares: true,
        ...Object.fromEntries([...LIVE, "startDaemon"].map((key) => [key, settings.get(key)])),
      },
      markdown: { isTrusted: { enabledCommands: ["mirage.showMugraph", "mirage.showProof"] } },
      middleware: {
        workspace: {
          // The workers' Python is the one that was found, not only the one that was set.
          configuration: async (params, token, next) => {
            const answers = await next(params, token);
            if (!Array.isArray(answers)) return answers;
            return answers.map((one, i) => (params.items[i]?.section === "mirage" ? { ...one, interpreter: found.python } : one));
          },
        },
        executeCommand: (command, args, next) => {
          const mine = this.instead.get(command);
          return mine ? mine(...args) : next(command, args);
        },
      },
    };
  }

  private async setTrace(): Promise<void> {
    const level = vscode.workspace.getConfiguration("mirage").get<string>("trace.server", "off");
    await this.client?.setTrace(Trace.fromString(level));
  }

  private async trust(): Promise<void> {
    if (this.running) await this.client?.sendNotification("mirage/didGrantTrust");
    else await this.restart("the workspace is trusted now");
  }
}
