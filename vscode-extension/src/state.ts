/** What the language server tells in the notification `mirage/states`, for all open documents of this window. */
import * as vscode from "vscode";

export type Mark = "running" | "proved" | "tested" | "warning" | "rejected" | "kept" | "";

export interface FunctionState {
  name: string;
  line: number;
  endLine: number;
  block: boolean;
  edited: boolean;
  state: string;
  mark: Mark;
  title: string;
  kernel: boolean;
  result: boolean;
}

export interface States {
  uri: string;
  version: number;
  functions: FunctionState[];
}

export class Window implements vscode.Disposable {
  private readonly documents = new Map<string, States>();
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChange = this.emitter.event;

  tell(states: States): void {
    const key = vscode.Uri.parse(states.uri).toString();
    if (states.functions.length) this.documents.set(key, states);
    else this.documents.delete(key);
    this.emitter.fire();
  }

  clear(): void {
    this.documents.clear();
    this.emitter.fire();
  }

  of(uri: vscode.Uri): FunctionState[] {
    return this.documents.get(uri.toString())?.functions ?? [];
  }

  all(): States[] {
    return [...this.documents.values()];
  }

  get running(): number {
    return this.all().reduce((sum, d) => sum + d.functions.filter((f) => f.mark === "running").length, 0);
  }

  dispose(): void {
    this.emitter.dispose();
  }
}
