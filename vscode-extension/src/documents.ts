/** Read-only documents (a kernel, the two sides of a comparison), and finding a µGraph's parts in them. */
import * as path from "node:path";
import * as vscode from "vscode";
import type { Answer } from "./result";

export const SCHEME = "mirage";

/** A comparison on the screen: of which function, and whether its kernel is in the file. */
export interface Compared {
  uri: vscode.Uri;
  name: string;
  replaced: boolean;
}

export class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly comparisons = new Map<string, Compared>(); // by the right side's URI
  private readonly emitter = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.emitter.event;
  private readonly watching: vscode.Disposable[];

  constructor() {
    this.watching = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument((d) => {
        if (d.uri.scheme === SCHEME) [this.texts, this.comparisons].forEach((one) => one.delete(d.uri.toString()));
      }),
    ];
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  /** A read-only document named after a file of the user's; its place in the tree says which one it belongs to. */
  put(of: vscode.Uri, side: string, text: string): vscode.Uri {
    const uri = of.with({ scheme: SCHEME, authority: "", path: path.posix.join(of.path, "..", `${side} ${path.posix.basename(of.path)}`) });
    this.texts.set(uri.toString(), text);
    this.emitter.fire(uri);
    return uri;
  }

  /** The comparison in the active tab. */
  get compared(): Compared | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    return input instanceof vscode.TabInputTextDiff ? this.comparisons.get(input.modified.toString()) : undefined;
  }

  async diff(uri: vscode.Uri, name: string, replaced: boolean, answer: Answer): Promise<void> {
    if (answer.before === answer.after) {
      void vscode.window.showInformationMessage(`Mirage: there is no kernel for ${name} to compare with: ${answer.headline}`);
      return;
    }
    const [left, right] = [this.put(uri, `original ${name}`, answer.before), this.put(uri, `kernel ${name}`, answer.after)];
    this.comparisons.set(right.toString(), { uri, name, replaced });
    await vscode.commands.executeCommand("vscode.diff", left, right, `${name}: original ↔ kernel (${answer.headline})`, { preview: true });
  }

  /** Show where a µGraph's part is in the text: a kernel's function, and in it the first assignment of `value`. */
  async reveal(uri: vscode.Uri, answer: Answer, kernel: string, value: string): Promise<void> {
    const open = await vscode.workspace.openTextDocument(uri);
    const inPlace = place(open.getText(), kernel, value) !== undefined;
    const shown = inPlace ? uri : this.put(uri, "kernel of", answer.result.source);
    const document = inPlace ? open : await vscode.workspace.openTextDocument(shown);
    await vscode.languages.setTextDocumentLanguage(document, "python");
    const line = place(document.getText(), kernel, value) ?? 0;
    const at = document.lineAt(Math.min(line, document.lineCount - 1)).range;
    const column = vscode.window.visibleTextEditors.find((e) => e.document.uri.toString() === shown.toString())?.viewColumn ?? vscode.ViewColumn.One;
    await vscode.window.showTextDocument(document, { selection: at, viewColumn: column, preserveFocus: false, preview: true });
  }

  dispose(): void {
    for (const one of [this.emitter, ...this.watching]) one.dispose();
  }
}

/** The 0-based line of a kernel's function in a text, or of a value in it; undefined where the kernel is not there. */
export function place(text: string, kernel: string, value: string): number | undefined {
  const lines = text.split(/\r?\n/);
  const begin = lines.findIndex((line) => kernel !== "" && new RegExp(`^def \\w*?_${kernel}(_\\d+)?\\(`).test(line));
  if (begin < 0) return undefined;
  if (!value) return begin;
  const end = lines.findIndex((line, i) => i > begin && /^\S/.test(line) && !line.startsWith(")"));
  const body = lines.slice(begin, end < 0 ? undefined : end);
  const uses = [new RegExp(`^\\s+${value} [-+*/]?= `), new RegExp(`\\b${value}(_ptr)?\\b`)];
  for (const pattern of uses) {
    const found = body.findIndex((line, i) => i > 0 && pattern.test(line) && !/^\s+\w+,$/.test(line));
    if (found >= 0) return begin + found;
  }
  return begin;
}
