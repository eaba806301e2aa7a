/** The proof: the verdict's links and opinions, and the derivation from the function to the µGraph step by step. */
import type { Derivation, Goal, Law, Refused, Step } from "../src/result";
import { el, follow, header, remembered, root, send, type Shown } from "./page";

const state = remembered({ at: 0 });
let shown: Shown | undefined;
let steps: HTMLElement[] = [];

const LINKS: Record<string, string> = {
  algebra: "program = µGraph's kernels",
  schedule: "kernels = µGraph with blocks and loops",
  text: "µGraph = Triton text",
};

function draw(): void {
  if (!shown) return;
  const { verdict, derivation } = shown.result;
  steps = [];
  const goals = derivation && "goals" in derivation ? (derivation as unknown as Derivation) : undefined;
  const laws = new Map((goals?.laws ?? []).map((law) => [law.name, law]));
  const body = goals ? goals.goals.map((goal) => drawGoal(goal, laws)) : [el("p", {}, "This result has no derivation: it was not found by the laws, or it is an older one.")];
  const tools = [
    el("button", { id: "previous", title: "Previous step (←)", click: () => go(state.at - 1) }, "◂"),
    el("span", { id: "step", role: "status", "aria-live": "polite" }),
    el("button", { id: "next", title: "Next step (→)", click: () => go(state.at + 1) }, "▸"),
    el("button", { click: () => send({ kind: "open", panel: "mugraph" }) }, "µGraph"),
  ];
  root.replaceChildren(
    header(shown, ...tools),
    el("h2", {}, "What was checked"),
    table(["link", "verdict", "chance that a wrong kernel passes", ""], Object.entries(verdict?.links ?? {}).map(([name, link]) => [name, link.word, bound(link), LINKS[name] ?? ""])),
    ...refused(shown.refused),
    el("details", {}, el("summary", {}, "Each opinion"), table(["opinion", "link", "verdict", "says"], (verdict?.evidence ?? []).map((e) => [e.opinion, e.link, e.word, e.summary]))),
    el("h2", {}, "The derivation"),
    ...body,
    ...(goals?.schedule.length ? [el("h2", {}, "The schedule"), el("ol", { class: "schedule" }, ...goals.schedule.map((s) => el("li", {}, el("b", {}, s.law), " ", s.text)))] : []),
    ...(goals?.laws.length ? [el("h2", {}, "The laws used"), table(["law", "says", "where", "source"], goals.laws.map((l) => [l.name, l.statement, l.condition, l.source]))] : []),
    ...details(shown.result),
    ...list("Taken on trust", verdict?.trusted),
    ...list("Notes", [...(verdict?.notes ?? []), ...shown.result.notes]),
  );
  go(state.at);
}

function drawGoal(goal: Goal, laws: Map<string, Law>): HTMLElement {
  const [from = "", to = ""] = goal.text;
  const done = goal.steps.length ? drawSteps(goal.steps, laws) : el("p", { class: "same" }, "nothing to show: both sides are the same");
  return el("section", { class: "goal" }, el("h3", {}, `${goal.kind} ${goal.name}`), el("pre", { class: "term" }, from), done, goal.steps.length > 0 && el("pre", { class: "term" }, to));
}

function drawSteps(all: Step[], laws: Map<string, Law>): HTMLElement {
  return el("ol", { class: "steps" }, ...all.map((step) => drawStep(step, laws)));
}

function drawStep(step: Step, laws: Map<string, Law>): HTMLElement {
  const law = laws.get(step.law);
  const [before, after] = step.text ?? [];
  const made = el("li", { class: "step", tabindex: "-1" });
  const mine = steps.push(made) - 1;
  made.append(
    el("button", { class: "law", title: [law?.statement, law?.condition].filter(Boolean).join("\nwhere "), click: () => go(mine) }, step.law),
    el("span", { class: "statement" }, law?.statement ?? ""),
  );
  if (before !== undefined && after !== undefined) made.append(el("pre", { class: "rewrite" }, el("span", { class: "before" }, before), "\n= ", el("span", { class: "after" }, after)));
  for (const part of step.parts ?? []) made.append(drawSteps(part.steps, laws));
  return made;
}

function go(to: number): void {
  steps[state.at]?.classList.remove("current");
  state.at = Math.max(0, Math.min(to, steps.length - 1));
  state.keep();
  const current = steps[state.at];
  current?.classList.add("current");
  if (to !== 0) current?.scrollIntoView({ block: "nearest" });
  const told = document.getElementById("step");
  if (told) told.textContent = steps.length ? `step ${state.at + 1} of ${steps.length}` : "no steps";
}

const bound = (link: { word: string; bound: number | null }) => (link.word === "PROVED" ? "none" : link.bound === null ? "not bounded" : `at most ${link.bound.toExponential(1)}`);

function table(head: string[], rows: string[][]): HTMLElement {
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", /^(PROVED|TESTED|UNDECIDED|REJECTED)$/.test(cell) ? { class: `word ${cell.toLowerCase()}` } : {}, cell))))),
  );
}

/** The times, the kernels' figures, and why it is not faster: what a hover has no room for. */
function details({ answer, estimate, kernels, remarks }: Shown["result"]): HTMLElement[] {
  const us = (value: number) => `${value.toPrecision(3)} µs`;
  const count = (value: number | null, unit = "") => (value === null ? "not compiled" : `${value}${unit}`);
  const times = estimate && [["yours", us(estimate.baseline_us)], ...(answer === "keep" ? [] : [["found", us(estimate.us)]]), ["speed of light", us(estimate.speed_of_light_us)]];
  const facts = (answer === "keep" ? [] : kernels).map((k) => [k.name, k.grid.join(" × "), k.loops.map((l) => `${l.dim} ${l.range} × ${l.tile}`).join(", "), count(k.shared_bytes, " B"), count(k.registers), count(k.spill_bytes, " B")]);
  return [
    ...(times ? [el("h2", {}, "Times"), table(["", estimate.measured ? `measured on ${estimate.device}` : "estimated, not measured"], times)] : []),
    ...(facts.length ? [el("h2", {}, "Kernels"), table(["kernel", "grid", "loops", "shared memory", "registers", "spills"], facts)] : []),
    ...list("Why not more", remarks.map((remark) => remark.text)),
  ];
}

function refused(rows: Refused[]): HTMLElement[] {
  const said = rows.map((row) => el("li", {}, `${row.link}, ${row.opinion}: ${row.says}`, row.shown.length > 0 && el("ul", {}, ...row.shown.map((line) => el("li", {}, line)))));
  return said.length ? [el("h2", {}, "Refused"), el("ul", { class: "refused" }, ...said)] : [];
}

const list = (title: string, rows: string[] | undefined) => (rows?.length ? [el("h2", {}, title), el("ul", {}, ...rows.map((row) => el("li", {}, row)))] : []);

window.addEventListener("keydown", ({ key }) => {
  if (key === "ArrowRight" || key === "j") go(state.at + 1);
  else if (key === "ArrowLeft" || key === "k") go(state.at - 1);
});
follow((next) => {
  shown = next;
  draw();
});
