/** The side view: the daemon's jobs of all projects, its cache, and this window's functions. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { Mark } from "./state";
import type { Server } from "./server";

interface Job {
  job: string;
  state: string;
  counts: Record<string, number>;
  best: string;
  function: string;
  path: string;
  wanted: number;
}

interface Daemon {
  pid: number;
  package: string;
  uptime_s: number;
  clients: number;
  jobs: Job[];
  cache: Record<string, number>;
}

interface Node {
  item: vscode.TreeItem;
  children: Node[];
}

const EVERY_MS = 1000; // while jobs run and the view is on the screen
const ICONS: Record<Mark, string> = { proved: "verified-filled", tested: "beaker", running: "sync~spin", rejected: "error", kept: "pass", "": "circle-outline" };

export class Jobs implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.emitter.event;
  private readonly view: vscode.TreeView<Node>;
  private readonly watching: vscode.Disposable[];
  private daemon: Daemon | undefined;
  private asked = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.view = vscode.window.createTreeView("mirage.jobs", { treeDataProvider: this });
    const soon = () => this.soon(200);
    this.watching = [this.view, this.view.onDidChangeVisibility(soon), server.onDidChange(soon), server.window.onDidChange(soon)];
    this.soon(0);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.item;
  }

  getChildren(node?: Node): Node[] {
    if (node) return node.children;
    if (!this.server.running) return []; // the welcome text
    const [functions, daemon] = [this.functions(), this.daemon];
    return daemon ? [this.running(daemon), functions, cache(daemon), about(daemon)] : [functions];
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
      item.description = [job.state, ...counts, path.basename(job.path)].join(" · ");
      item.tooltip = `${job.path}\n${job.state}${job.best ? `, best ${job.best}` : ""}\nwanted by ${job.wanted} window${job.wanted === 1 ? "" : "s"}`;
      item.iconPath = new vscode.ThemeIcon(job.state === "queued" ? "clock" : "sync~spin");
      if (path.isAbsolute(job.path)) item.command = { title: "Open", command: "vscode.open", arguments: [vscode.Uri.file(job.path)] };
      return { item, children: [] };
    });
    return group(`Jobs of all projects`, children, "nothing runs");
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

function cache(daemon: Daemon): Node {
  const { bytes = 0, ...counts } = daemon.cache;
  const rows: [string, string][] = [["size", `${(bytes / 1024).toFixed(0)} KiB`], ...Object.entries(counts).map(([k, v]): [string, string] => [k.replace("_", " "), String(v)])];
  return group("Cache", rows.map(([name, value]) => fact(name, value)), "", "database");
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
