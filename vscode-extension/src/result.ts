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

export interface Result {
  function: string;
  answer: "kernel" | "keep";
  reason: string;
  source: string;
  verdict: Verdict;
  kernels: { name: string; grid: number[]; shared_bytes: number | null; registers: number | null; spill_bytes: number | null; warps: number }[];
  derivation: Derivation | Record<string, never>;
}

export interface Verdict {
  word?: string;
  headline?: string;
  scope?: string;
  links?: Record<string, { word: string; bound: number | null }>;
  opinions?: Record<string, Record<string, { word: string; summary: string; bound: number | null }>>;
  trusted?: string[];
  notes?: string[];
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
