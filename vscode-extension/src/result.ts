import type { Result } from "./result_types";

export type { Result } from "./result_types";

/** The answer of the server's command `mirage.result`, as far as it is used here (docs/editor.md). */
export interface Answer {
  headline: string;
  stale: boolean;
  state: string;
  result: Result;
  refused: Refused[];
  svg: string[];
  pictures: Box[];
  before: string;
  after: string;
}

/** An opinion that refuses the kernel, with its counterexample in words. */
export interface Refused {
  link: string;
  opinion: string;
  says: string;
  shown: string[];
}

export interface Box {
  level: "graph" | "kernel" | "block" | "loop" | "thread";
  title: string;
  content: (string | Box)[];
}

export interface Derivation {
  goals: Goal[];
  schedule: { law: string; text: string }[];
  laws: Law[];
}

export interface Goal {
  kind: string;
  name: string;
  steps: Step[];
  text: string[];
}

export interface Step {
  law: string;
  text?: string[];
  parts?: { steps: Step[] }[];
}

export interface Law {
  name: string;
  statement: string;
  condition: string;
  source: string;
}
