/** The µGraph and the proof in panels beside the text. One panel of a kind for each function; it follows the function's result. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Documents } from "./documents";
import type { Answer } from "./result";
import type { Server } from "./server";

export type Kind = "mugraph" | "proof";
const TITLES: Record<Kind, string> = { mugraph: "µGraph", proof: "Proof" };

/** What a panel's script sends. */
interface Message {
  kind: "ready" | "source" | "save" | "open";
  kernel?: string;
  value?: string;
  picture?: number;
  panel?: Kind;
}

export class Panels implements vscode.Disposable {
  private readonly open = new Map<string, { panel: vscode.WebviewPanel; fill: () => Promise<void> }>();
  private readonly watching: vscode.Disposable;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly documents: Documents,
  ) {
    this.watching = server.window.onDidChange(() => {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        for (const { fill } of this.open.values()) void fill();
      }, 300);
    });
  }

  async show(kind: Kind, uri: vscode.Uri, name: string): Promise<void> {
    const answer = await this.server.ask<Answer>("mirage.result", uri.toString(), name);
    if (!answer) return;
    const key = `${kind} ${name} ${uri}`;
    const there = this.open.get(key);
    if (there) {
      there.panel.reveal(undefined, true);
      return there.fill();
    }
    const panel = vscode.window.createWebviewPanel(`mirage.${kind}`, `${TITLES[kind]}: ${name}`, { viewColumn: this.column, preserveFocus: true }, {
      enableScripts: true,
      enableFindWidget: true,
      localResourceRoots: [vscode.Uri.joinPath(this.context.extensionUri, "dist"), vscode.Uri.joinPath(this.context.extensionUri, "media")],
      retainContextWhenHidden: false,
    });
    panel.iconPath = vscode.Uri.joinPath(this.context.extensionUri, "media", "view.svg");
    let latest = answer;
    let told = "";
    const tell = () => {
      const { before: _before, after: _after, svg: _svg, ...shown } = latest;
      told = JSON.stringify(shown);
      return panel.webview.postMessage({ name, ...shown });
    };
    const fill = async () => {
      const known = this.server.window.of(uri).some((f) => f.name === name && f.result);
      const next = known ? await this.server.ask<Answer>("mirage.result", uri.toString(), name) : undefined;
      if (!next || !this.open.has(key)) return;
      latest = next;
      const { before: _before, after: _after, svg: _svg, ...shown } = latest;
      if (JSON.stringify(shown) !== told) await tell();
    };
    this.open.set(key, { panel, fill });
    panel.onDidDispose(() => this.open.delete(key));
    panel.webview.onDidReceiveMessage((message: Message) => {
      if (message.kind === "ready") void tell();
      else if (message.kind === "source") void this.documents.reveal(uri, latest, message.kernel ?? "", message.value ?? "");
      else if (message.kind === "save") void save(name, latest.svg[message.picture ?? 0] ?? "");
      else if (message.kind === "open" && message.panel) void this.show(message.panel, uri, name);
    });
    panel.webview.html = this.page(panel.webview, kind, `${TITLES[kind]} of ${name}`);
  }

  /** Where the other panels are, else beside the text. */
  private get column(): vscode.ViewColumn {
    return [...this.open.values()].map(({ panel }) => panel.viewColumn).find((column) => column !== undefined) ?? vscode.ViewColumn.Beside;
  }

  /** No script, style, font or picture but the extension's own; nothing is fetched. */
  private page(webview: vscode.Webview, kind: Kind, title: string): string {
    const nonce = randomBytes(16).toString("base64");
    const at = (folder: string, file: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.context.extensionUri, folder, file));
    const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}`;
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${at("media", "panel.css")}">
<title>${title.replace(/[&<>]/g, "")}</title>
</head>
<body class="${kind}"><main id="root"></main><script nonce="${nonce}" src="${at("dist", `${kind}.js`)}"></script></body>
</html>`;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.watching.dispose();
    for (const { panel } of [...this.open.values()]) panel.dispose();
  }
}

async function save(name: string, svg: string): Promise<void> {
  const target = await vscode.window.showSaveDialog({ filters: { SVG: ["svg"] }, saveLabel: "Save the Picture", title: `The µGraph of ${name}` });
  if (target) await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(svg));
}
