/** The result of an optimization and its progress as JSON. Written by docs/generate_types.py from core/mirage/results. */

export interface Result {
  function: string;
  answer: "kernel" | "keep" | "compile" | "library";
  reason: string;
  inputs: TensorSpec[];
  program_key: string;
  verdict: Verdict | null;
  search: SearchStats;
  kernels: KernelFacts[];
  estimate: Estimate | null;
  measured: Measurement | null;
  elsewhere: MeasuredElsewhere | null;
  source: string;
  mugraphs: Record<string, unknown>[];
  by_size: BySize[];
  derivation: Record<string, unknown> | null;
  remarks: Remark[];
  notes: string[];
  versions: Record<string, string>;
  baseline: string;
  seconds: PhaseSeconds;
  schema: number;
}

export interface ProgressCounts {
  values: number;
  systems: number;
  parts: number;
  resumed: number;
  cut_sets: number;
  mugraphs: number;
  tried: number;
  sizes: number;
  checked: number;
  right: number;
  timed: number;
  retries: number;
}

export interface TensorSpec {
  name: string;
  shape: number[];
  dtype: string;
  strides: number[] | null;
  names: string[];
}

export interface Verdict {
  evidence: Evidence[];
  outputs: number;
  scope: "all sizes" | "these sizes";
  notes: string[];
  finite: boolean;
  upto: number | null;
  only: string[];
  word: "PROVED" | "TESTED" | "UNDECIDED" | "REJECTED";
  headline: string;
  bound: number | null;
  links: Record<string, LinkState>;
  trusted: string[];
}

export interface SearchStats {
  values: number;
  systems: number;
  structures: number;
  mugraphs: number;
  parts: number;
  resumed: number;
  cut_sets: number;
  shifts: number;
  seconds: number;
  exhaustive: boolean;
  limits: string[];
  total_seconds: number;
}

export interface KernelFacts {
  name: string;
  grid: number[];
  loops: LoopFacts[];
  warps: number;
  stages: number;
  shared_bytes: number | null;
  registers: number | null;
  spill_bytes: number | null;
  tensor_core: boolean | null;
  target: string;
}

export interface Estimate {
  us: number;
  speed_of_light_us: number;
  baseline_us: number;
  device: string;
  measured: boolean;
}

export interface Measurement {
  peers: Record<string, number>;
  read: number;
  variants: number;
  dropped: string[];
}

export interface MeasuredElsewhere {
  device: string;
  us: number;
  baseline_us: number;
  against: string;
  by: string;
}

export interface BySize {
  inputs: TensorSpec[];
  mugraph: number;
  verdict: Verdict | null;
  estimate: Estimate | null;
  baseline: string;
}

export interface Remark {
  code: string;
  text: string;
  figures: Record<string, number | string>;
}

export interface PhaseSeconds {
  trace: number;
  search: number;
  tuning: number;
  baselines: number;
  emission: number;
  verdict: number;
  compile: number;
  waiting: number;
  explaining: number;
  first_kernel: number;
  total: number;
}

export interface Evidence {
  link: "algebra" | "schedule" | "text";
  opinion: "field" | "proof" | "float" | "memory" | "range" | "rounding" | "structure";
  word: "PROVED" | "TESTED" | "UNDECIDED" | "REJECTED";
  summary: string;
  output: number | null;
  bound: number | null;
  seconds: number;
  details: FieldDetails | ProofDetails | FloatDetails | MemoryDetails | RangeDetails | RoundingDetails | null;
  counterexample: Counterexample | null;
  where: string;
}

export interface LinkState {
  word: "PROVED" | "TESTED" | "UNDECIDED" | "REJECTED";
  bound: number | null;
}

export interface LoopFacts {
  dim: string;
  range: number;
  tile: number;
}

export interface FieldDetails {
  draws: number;
  discarded: number;
  p: number;
  q: number;
  sizes: Record<string, number>;
  degree: number;
  exponential_terms: number;
  roots: number;
  signs: number;
  bound_a_draw: number | null;
  bound_a_draw_any_exponents: number | null;
  theorem: string;
  given: string[];
  opaque: string[];
  tiles: Record<string, Record<string, number>>;
  faults: string[];
  independent_of_shift: boolean | null;
  whole_tiles: Record<string, number> | null;
  other_order: Record<string, number> | null;
  same_launch: boolean;
}

export interface ProofDetails {
  proofs: ProofStep[];
  axioms: string[];
  trusted_by_user: Record<string, string>;
  outputs: number;
  update_laws: number;
  splits: Record<string, [string, string]>;
}

export interface FloatDetails {
  sizes: Record<string, number>;
  tiles: Record<string, Record<string, number>>;
  regimes: RegimeError[];
  unlike: boolean;
  draw: number | null;
}

export interface MemoryDetails {
  proved: boolean;
  scope: string | null;
  beyond: string;
  sizes: Record<string, number>;
  launches: Record<string, number>[];
  accesses: number;
  questions: number;
  unproved: string[];
  faults: string[];
  at: Record<string, number>;
}

export interface RangeDetails {
  bound: number | null;
  beyond: string;
  function: number | null;
  kernel: number | null;
  narrower: boolean;
  casts: Cast[];
}

export interface RoundingDetails {
  sizes: Record<string, number>;
  regimes: RegimeBound[];
  times_written: number;
  unbounded: string;
  unwritten: string;
}

export interface Counterexample {
  opinion: "field" | "proof" | "float" | "memory" | "range" | "rounding" | "structure";
  output: number;
  index: number[];
  expected: string;
  actual: string;
  sizes: Record<string, number>;
  seed: number;
  concrete: Concrete | null;
}

export interface ProofStep {
  route: string;
  laws: string[];
  where: string[];
  seconds: number;
}

export interface RegimeError {
  regime: string;
  output: number;
  dtype: string;
  reference: string;
  error: number;
  eager: number;
  budget: number;
  allowed: number;
  far: boolean;
  why: string;
  roundings: number;
}

export interface Cast {
  where: string;
  dtype: string;
  bound: number | null;
  output: boolean;
}

export interface RegimeBound {
  regime: string;
  output: number;
  inputs: number;
  largest: number;
  bound: number | null;
  written: number | null;
  measured: number;
  reached: number;
}

export interface Concrete {
  inputs: TensorSpec[];
  kind: string;
  seed: number;
  sizes: Record<string, number>;
  tiles: Record<string, Record<string, number>>;
  output: number;
  index: number[];
  expected: string;
  actual: string;
  error: string;
  values: unknown[];
  script: string;
  note: string;
}
