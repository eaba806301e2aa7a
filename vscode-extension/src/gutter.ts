/** Marks beside the line numbers and in the overview ruler: proved (a shield), tested (a tick), a warning, running, rejected. */
import * as vscode from "vscode";
import type { Mark } from "./state";
import type { Server } from "./server";

const QUIET_MS = 100; // marks are drawn once for many changes
const MARKS: Record<Exclude<Mark, "" | "kept">, string> = {
  proved: "testing.iconPassed",
  tested: "testing.iconPassed",
  warning: "charts.orange",
  running: "charts.orange",
  rejected: "testing.iconFailed",
};

export class Gutter implements vscode.Disposable {
  private readonly types: Record<string, vscode.TextEditorDecorationType>;
  private readonly watching: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(context: vscode.ExtensionContext, private readonly server: Server) {
    this.types = Object.fromEntries(
      Object.entries(MARKS).map(([mark, colour]) => [
        mark,
        vscode.window.createTextEditorDecorationType({
          gutterIconPath: vscode.Uri.joinPath(context.extensionUri, "media", `${mark}.svg`),
          gutterIconSize: "contain",
          overviewRulerColor: new vscode.ThemeColor(colour),
          overviewRulerLane: vscode.OverviewRulerLane.Left,
        }),
      ]),
    );
    const soon = () => {
      this.timer ??= setTimeout(() => this.draw(), QUIET_MS);
    };
    this.watching = [
      server.window.onDidChange(soon),
      vscode.window.onDidChangeVisibleTextEditors(soon),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("mirage.gutter") && soon()),
    ];
  }

  private draw(): void {
    this.timer = undefined;
    const on = vscode.workspace.getConfiguration("mirage").get<boolean>("gutter", true);
    for (const editor of vscode.window.visibleTextEditors) {
      const functions = on ? this.server.window.of(editor.document.uri) : [];
      for (const [mark, type] of Object.entries(this.types)) {
        const at = functions.filter((f) => f.mark === mark).map((f) => ({ range: new vscode.Range(f.line, 0, f.line, 0), hoverMessage: f.title }));
        editor.setDecorations(type, at);
      }
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const one of [...this.watching, ...Object.values(this.types)]) one.dispose();
  }
}
