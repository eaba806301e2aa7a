/** Folds the block of a replaced function to its first line when it appears; above it the lens says what it is. */
import * as vscode from "vscode";
import type { FunctionState } from "./state";
import type { Server } from "./server";

const SHORT = 24; // lines: a block with an import alone is read as it is

export class Fold implements vscode.Disposable {
  private readonly seen = new Map<string, Set<string>>();
  private readonly watching: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.watching = [
      server.window.onDidChange(() => void this.look()),
      vscode.window.onDidChangeActiveTextEditor(() => void this.look()),
      vscode.workspace.onDidCloseTextDocument((d) => this.seen.delete(d.uri.toString())),
    ];
  }

  private async look(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !vscode.workspace.getConfiguration("mirage").get<boolean>("fold", true)) return;
    const key = editor.document.uri.toString();
    const blocks = this.server.window.of(editor.document.uri).filter((f) => f.block);
    const before = this.seen.get(key) ?? new Set<string>();
    this.seen.set(key, new Set(blocks.map((b) => b.name)));
    for (const block of blocks.filter((b) => !before.has(b.name) && !b.edited && b.endLine - b.line >= SHORT)) await fold(editor, block);
  }

  dispose(): void {
    for (const one of this.watching) one.dispose();
  }
}

/** A fold of these lines; a range of one's own leaves the folds of other extensions alone, which a provider would replace. */
async function fold(editor: vscode.TextEditor, { line, endLine }: FunctionState): Promise<void> {
  if (endLine >= editor.document.lineCount || !editor.document.lineAt(line).text.startsWith("# mirage:begin ")) return;
  const caret = editor.selection.active;
  const back = line < caret.line && caret.line <= endLine ? new vscode.Position(line, 0) : caret;
  editor.selection = new vscode.Selection(line, 0, endLine, editor.document.lineAt(endLine).text.length);
  await vscode.commands.executeCommand("editor.createFoldingRangeFromSelection");
  editor.selection = new vscode.Selection(back, back);
}
