/** The side view: the daemon's jobs of all projects, its cache, and this window's functions. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { Documents } from "./documents";
import type { Result } from "./result";
import type { ProgressCounts } from "./result_types";
import type { Mark } from "./state";
import type { Server } from "./server";

interface Job {
  job: string;
  state: string;
  counts: Partial<ProgressCounts>;
  best: string;
  function: string;
  path: string;
  wanted: number;
  saves: number;
}

/** A job that is over. */
interface Ended {
  job: string;
  state: "done" | "kept" | "failed" | "cancelled";
  function: string;
  path: string;
  ago_s: number;
  reason: string;
  verdict: string;
  error: string;
}

/** A result in the cache, of whatever project. */
interface Cached {
  key: string;
  state: string;
  function: string;
  target: string;
  verdict: string;
  reason: string;
  size: number;
  used: number;
}

interface Daemon {
  pid: number;
  package: string;
  uptime_s: number;
  clients: number;
  jobs: Job[];
  ended: Ended[];
  cache: Record<string, number>;
}

interface Node {
  item: vscode.TreeItem;
  children: Node[] | (() => Promise<Node[]>);
}

const EVERY_MS = 1000; // while jobs run and the view is on the screen
const ENDS: Record<Ended["state"], string> = { done: "verified-filled", kept: "pass", failed: "error", cancelled: "circle-slash" };
const ICONS: Record<Mark, string> = { proved: "verified-filled", tested: "pass-filled", warning: "warning", running: "sync~spin", rejected: "error", kept: "pass", "": "circle-outline" };

export class Jobs implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.emitter.event;
  private readonly view: vscode.TreeView<Node>;
  private readonly watching: vscode.Disposable[];
  private daemon: Daemon | undefined;
  private asked = 0;
  private timer: NodeJS.Timeout | undefined;
  private listed: { of: string; rows: Promise<Node[]> } | undefined;

  constructor(
    private readonly server: Server,
    private readonly documents: Documents,
  ) {
    this.view = vscode.window.createTreeView("mirage.jobs", { treeDataProvider: this });
    const soon = () => this.soon(200);
    this.watching = [this.view, this.view.onDidChangeVisibility(soon), server.onDidChange(soon), server.window.onDidChange(soon)];
    this.soon(0);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.item;
  }

  getChildren(node?: Node): Node[] | Promise<Node[]> {
    if (node) return typeof node.children === "function" ? node.children() : node.children;
    if (!this.server.running) return []; // the welcome text
    const [functions, daemon] = [this.functions(), this.daemon];
    return daemon ? [this.running(daemon), ended(daemon), functions, this.cache(daemon), about(daemon)] : [functions];
  }

  /** Ask the daemon, now. */
  async refresh(): Promise<void> {
    const turn = ++this.asked;
    const answer = this.server.running ? await this.server.ask<Daemon>("mirage.jobs") : undefined;
    if (turn !== this.asked) return;
    this.daemon = answer?.jobs ? answer : undefined;
    const running = this.daemon?.jobs.length ?? 0;
    this.view.badge = running ? { value: running, tooltip: `${running} jobs run or wait` } : undefined;
    this.emitter.fire();
    if (running) this.soon(EVERY_MS);
  }

  private soon(ms: number): void {
    if (!this.view.visible) return; // nobody looks: a question would only keep the daemon awake
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.refresh();
    }, ms);
  }

  private running(daemon: Daemon): Node {
    const children = daemon.jobs.map((job) => {
      const counts = Object.entries(job.counts).map(([name, count]) => `${count} ${name}`);
      const item = new vscode.TreeItem(job.function);
      item.description = [job.state, ...counts, short(job.path)].join(" · ");
      item.tooltip = `${job.path}\n${job.state}${job.best ? `, best ${job.best}` : ""}\nwanted by ${wishes(job)}`;
      item.iconPath = new vscode.ThemeIcon(job.state === "queued" ? "clock" : "sync~spin");
      item.command = opens(job.path);
      return { item, children: [] };
    });
    return group("Jobs of all projects", children, "nothing runs");
  }

  private cache(daemon: Daemon): Node {
    const { bytes = 0, ...counts } = daemon.cache;
    const facts = Object.entries(counts).map(([name, value]) => fact(name.replace("_", " "), String(value)));
    const item = new vscode.TreeItem("results of all projects", vscode.TreeItemCollapsibleState.Collapsed);
    item.id = "results";
    const of = JSON.stringify([daemon.pid, daemon.cache]); // as long as this is the same, so are they
    const rows = () => (this.listed?.of === of ? this.listed : (this.listed = { of, rows: this.results() })).rows;
    const results: Node = { item, children: rows };
    return group("Cache", [fact("size", `${(bytes / 1024).toFixed(0)} KiB`), ...facts, results], "", "database");
  }

  /** Asked for when the row is opened: the daemon reads all entries for it. */
  private async results(): Promise<Node[]> {
    const answer = await this.server.ask<{ results: Cached[]; more: number }>("mirage.cache");
    const rows = (answer?.results ?? []).map((result): Node => {
      const item = new vscode.TreeItem(result.function);
      const said = result.state === "done" ? result.verdict : `keep yours · ${result.reason}`;
      item.description = [said, result.target, ago(Date.now() / 1000 - result.used)].filter(Boolean).join(" · ");
      item.tooltip = `${result.reason}\n${(result.size / 1024).toFixed(0)} KiB, key ${result.key.slice(0, 12)}`;
      item.iconPath = new vscode.ThemeIcon(/^(PROVED|TESTED)/.test(result.verdict) ? "verified-filled" : "pass");
      if (result.state === "done") item.command = { title: "Show the kernel", command: "mirage.showCached", arguments: [result.key] };
      return { item, children: [] };
    });
    if (answer?.more) rows.push(fact(`${answer.more} more`, "mirage cache list"));
    return rows.length ? rows : [fact("none", "")];
  }

  /** The module that the cache has under a key, as a document of its own. */
  async show(key: string): Promise<void> {
    const answer = await this.server.ask<{ result: Result }>("mirage.cached", key);
    if (!answer) return;
    const of = vscode.Uri.from({ scheme: "file", path: `/${key.slice(0, 12)}/${answer.result.function}.py` });
    const document = await vscode.workspace.openTextDocument(this.documents.put(of, "kernel of", answer.result.source));
    await vscode.window.showTextDocument(await vscode.languages.setTextDocumentLanguage(document, "python"), { preview: true });
  }

  private functions(): Node {
    const children = this.server.window.all().flatMap(({ uri, functions }) =>
      functions.map((f) => {
        const item = new vscode.TreeItem(f.name);
        item.description = f.title.replace(/^Mirage: /, "");
        item.tooltip = `${vscode.Uri.parse(uri).fsPath}\n${f.title}`;
        item.iconPath = new vscode.ThemeIcon(ICONS[f.mark]);
        const selection = new vscode.Range(f.line, 0, f.line, 0);
        item.command = { title: "Open", command: "vscode.open", arguments: [vscode.Uri.parse(uri), { selection }] };
        return { item, children: [] };
      }),
    );
    return group("Functions of this window", children, "none is open");
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of [this.emitter, ...this.watching]) one.dispose();
  }
}

function ended(daemon: Daemon): Node {
  const children = (daemon.ended ?? []).map((job): Node => {
    const item = new vscode.TreeItem(job.function);
    const said = { done: job.verdict, kept: "keep yours", failed: job.error, cancelled: "stopped" }[job.state];
    item.description = [said, short(job.path), ago(job.ago_s)].join(" · ");
    item.tooltip = `${job.path}\n${job.reason}`;
    item.iconPath = new vscode.ThemeIcon(ENDS[job.state]);
    item.command = opens(job.path);
    return { item, children: [] };
  });
  return group("Ended", children, "nothing yet");
}

/** `2 windows`, `a save` */
function wishes(job: Job): string {
  const windows = job.wanted - (job.saves ?? 0);
  const said = [windows === 1 ? "1 window" : windows ? `${windows} windows` : "", job.saves ? "a save" : ""];
  return said.filter(Boolean).join(", ") || "nobody any more";
}

/** A file and its folder: which project it is. */
function short(file: string): string {
  return path.join(path.basename(path.dirname(file)), path.basename(file));
}

function opens(file: string): vscode.Command | undefined {
  return path.isAbsolute(file) ? { title: "Open", command: "vscode.open", arguments: [vscode.Uri.file(file)] } : undefined;
}

/** `now`, `5 min ago`, `2 h ago`, `3 d ago` */
function ago(seconds: number): string {
  for (const [length, unit] of [[86400, "d"], [3600, "h"], [60, "min"]] as const) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  return "now";
}

function about(daemon: Daemon): Node {
  const rows = [fact("version", daemon.package), fact("process", String(daemon.pid)), fact("clients", String(daemon.clients)), fact("up", `${Math.round(daemon.uptime_s)} s`)];
  return group("Daemon", rows, "", "server-process", true);
}

function fact(name: string, value: string): Node {
  const item = new vscode.TreeItem(name);
  item.description = value;
  return { item, children: [] };
}

function group(name: string, children: Node[], empty: string, icon?: string, closed = false): Node {
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(name, closed ? Collapsed : Expanded);
  if (icon) item.iconPath = new vscode.ThemeIcon(icon);
  item.id = name;
  return { item, children: children.length ? children : [fact(empty, "")] }; // an item without any stays closed when it gets some
}
