/** What both panels share: messages, making elements, and the state that survives hiding a panel. */
import type { Answer } from "../src/result";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void; getState(): unknown; setState(state: unknown): void };

export type Shown = Omit<Answer, "before" | "after" | "svg"> & { name: string };
type Child = Node | string | undefined | false;
type Attributes = Record<string, string | boolean | ((event: Event) => void) | undefined>;

const vscode = acquireVsCodeApi();
export const root = document.getElementById("root") as HTMLElement;

export const send = (message: { kind: string; [key: string]: unknown }) => vscode.postMessage(message);

/** An element; texts become text nodes, so that nothing that is shown can be markup. */
export function el(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((c): c is Node | string => c !== undefined && c !== false));
  return made;
}

/** Draw anew whenever the extension sends an answer. */
export function follow(draw: (shown: Shown) => void): void {
  window.addEventListener("message", ({ data }: MessageEvent<Shown>) => draw(data));
  send({ kind: "ready" });
}

/** Kept while the panel is hidden. */
export function remembered<T extends object>(start: T): T & { keep(): void } {
  const state = { ...start, ...(vscode.getState() as Partial<T> | undefined) };
  const plain = () => Object.fromEntries(Object.keys(start).map((key) => [key, state[key as keyof T]]));
  return Object.assign(state, { keep: () => vscode.setState(plain()) });
}

export function header(shown: Shown, ...tools: Child[]): HTMLElement {
  const word = shown.result.verdict?.word ?? "";
  return el(
    "header",
    {},
    el("h1", {}, shown.name),
    el("span", { class: `verdict ${word.toLowerCase()}` }, shown.headline),
    shown.stale && el("span", { class: "stale", role: "status" }, "stale: the text has changed since"),
    el("div", { class: "tools", role: "toolbar" }, ...tools),
  );
}
