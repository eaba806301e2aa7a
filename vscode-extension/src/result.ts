import type { Result } from "./result_types";

export type { Result } from "./result_types";

/** The answer of the server's command `mirage.result`, as far as it is used here (docs/editor.md). */
export interface Answer {
  headline: string;
  stale: boolean;
  state: string;
  result: Result;
  svg: string[];
  pictures: Box[];
  before: string;
  after: string;
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
