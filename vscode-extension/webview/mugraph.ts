/** The µGraph: kernels, in them their blocks and loops, in those their thread graphs. */
import type { Box } from "../src/result";
import { el, follow, header, remembered, root, send, type Shown } from "./page";

const LEVELS = [
  ["kernel", "Kernels"],
  ["block", "Blocks"],
  ["thread", "Threads"],
] as const;
const DEPTH: Record<Box["level"], number> = { graph: 0, kernel: 1, block: 2, loop: 2, thread: 3 };
const WORD = /[A-Za-z_]\w*/g;
const DEFINED = /^(?:input|temp|output|store) (\w+)|^(\w+)(?:\[[^\]]*\])? [^\s\w]*= /; // tensors, and the values of statements
const STEP = 1.2;

const state = remembered({ level: 3, zoom: 1, graph: 0 });
let shown: Shown | undefined;
let marked = "";
let names = new Set<string>();

function draw(): void {
  if (!shown) return;
  const graph = shown.pictures[Math.min(state.graph, shown.pictures.length - 1)];
  names = new Set(graph ? defined(graph) : []);
  const choice = shown.pictures.map((one, i) => el("option", { value: String(i), selected: i === state.graph }, one.title));
  const tools = [
    choice.length > 1 && el("select", { "aria-label": "µGraph", change: (e: Event) => set({ graph: Number((e.target as HTMLSelectElement).value) }) }, ...choice),
    ...LEVELS.map(([, title], i) => el("button", { id: `level-${i + 1}`, "aria-pressed": String(state.level === i + 1), click: () => set({ level: i + 1 }) }, title)),
    el("button", { class: "icon", title: "Smaller (-)", "aria-label": "Smaller", click: () => zoom(1 / STEP) }, "−"),
    el("button", { title: "As large as the text (0)", id: "zoom", click: () => set({ zoom: 1 }) }, `${Math.round(state.zoom * 100)} %`),
    el("button", { class: "icon", title: "Larger (+)", "aria-label": "Larger", click: () => zoom(STEP) }, "+"),
    el("button", { click: () => send({ kind: "open", panel: "proof" }) }, "Proof"),
    el("button", { click: () => send({ kind: "save", picture: state.graph }) }, "Save as SVG"),
  ];
  const stage = el("div", { class: "stage", tabindex: "0" }, graph ? box(graph, "") : el("p", {}, `There is no µGraph: ${shown.headline}`));
  stage.style.setProperty("zoom", String(state.zoom));
  stage.addEventListener("wheel", wheel, { passive: false });
  root.replaceChildren(header(shown, ...tools), el("p", { class: "hint" }, "Click a title or a line to see it in the source; point at a name to see where it goes."), el("div", { class: "scroll" }, stage));
}

function defined(one: Box): string[] {
  return one.content.flatMap((item) => {
    if (typeof item !== "string") return defined(item);
    const found = DEFINED.exec(item);
    return found ? [found[1] ?? found[2] ?? ""] : [];
  });
}

function box(one: Box, kernel: string): HTMLElement {
  const inside = one.level === "kernel" ? (/^(?:library )?kernel (\w+)/.exec(one.title)?.[1] ?? "") : kernel;
  const source = (value: string) => () => send({ kind: "source", kernel: inside, value });
  const title = el("button", { class: "title", click: source("") }, one.title);
  if (DEPTH[one.level] === state.level + 1) return el("section", { class: `box ${one.level} closed` }, el("button", { class: "title", click: () => set({ level: DEPTH[one.level] }) }, `▸ ${one.title}`));
  const content = one.content.map((item) => (typeof item === "string" ? line(item, inside, source) : DEPTH[item.level] > state.level + 1 ? undefined : box(item, inside)));
  return el("section", { class: `box ${one.level}`, "aria-label": one.title }, title, ...content);
}

/** A statement, its names marked wherever the pointer is on one of them. */
function line(text: string, kernel: string, source: (value: string) => () => void): HTMLElement {
  const found = DEFINED.exec(text);
  const value = found?.[1] ?? found?.[2] ?? "";
  const parts: (Node | string)[] = [];
  let from = 0;
  for (const found of text.matchAll(WORD)) {
    if (!names.has(found[0])) continue;
    parts.push(text.slice(from, found.index), el("span", { class: "name", "data-name": found[0], mouseenter: () => mark(found[0]), mouseleave: () => mark("") }, found[0]));
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return el("div", { class: "line", role: "button", tabindex: "0", title: kernel ? "Show in the source" : "", click: source(value), keydown: (e: Event) => (e as KeyboardEvent).key === "Enter" && source(value)() }, ...parts);
}

function mark(name: string): void {
  for (const [word, on] of [[marked, false], [name, true]] as const)
    if (word) for (const one of root.querySelectorAll(`[data-name="${CSS.escape(word)}"]`)) one.classList.toggle("marked", on);
  marked = name;
}

function set(change: Partial<typeof state>): void {
  Object.assign(state, change);
  state.keep();
  draw();
}

const zoom = (by: number) => set({ zoom: Math.min(4, Math.max(0.25, state.zoom * by)) });

function wheel(event: WheelEvent): void {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoom(event.deltaY < 0 ? STEP : 1 / STEP);
}

window.addEventListener("keydown", ({ key, ctrlKey, metaKey }) => {
  if (ctrlKey || metaKey) return;
  if (key === "+" || key === "=") zoom(STEP);
  else if (key === "-") zoom(1 / STEP);
  else if (key === "0") set({ zoom: 1 });
  else if (/^[123]$/.test(key)) set({ level: Number(key) });
});
follow((next) => {
  shown = next;
  draw();
});
