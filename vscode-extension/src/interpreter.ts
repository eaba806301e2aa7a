/**
 * Which Python the language server runs in. The first of these that has Mirage is taken:
 *
 * 1. the environment selected in the Python extension (Python Environments' API, else ms-python.python's),
 * 2. the setting `mirage.interpreter`,
 * 3. `.venv`, then `venv` in the folder (uv and poetry put an environment there too),
 * 4. `mirage`, then `python3`, then `python` on the PATH.
 *
 * In a workspace that is not trusted, nothing that lies inside the workspace is started, neither by its path nor by the path
 * that its links lead to.
 */
import { execFile } from "node:child_process";
import { accessSync, constants, realpathSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

export interface Found {
  /** The program and its arguments that serve at standard input and output. */
  command: string;
  args: string[];
  /** Full path of the Python, "" where only the `mirage` script is known. */
  python: string;
  version: string;
  /** Which of the steps above found it, in words. */
  from: string;
}

export interface Candidate {
  path: string;
  from: string;
  why: string; // "" where it has Mirage
}

const PROBE = "import mirage_lsp, sys; from mirage.link.version import package_version; print(package_version(), sys.executable, sep='\\n')";
const PROBE_MS = 20_000;

/** Those of the steps that name something, in order. */
export async function candidates(folder: vscode.Uri | undefined): Promise<Omit<Candidate, "why">[]> {
  const found: Omit<Candidate, "why">[] = [];
  const selected = await fromPythonExtension(folder);
  if (selected) found.push({ path: selected, from: "the Python extension" });
  const set = vscode.workspace.getConfiguration("mirage", folder).get<string>("interpreter", "").trim();
  if (set) found.push({ path: set, from: "the setting mirage.interpreter" });
  for (const name of folder?.scheme === "file" ? [".venv", "venv"] : []) {
    const there = path.join(folder!.fsPath, name, ...(process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"]));
    if (executable(there)) found.push({ path: there, from: `the folder's ${name}` });
  }
  for (const name of ["mirage", "python3", "python"]) {
    const there = onPath(name);
    if (there) found.push({ path: there, from: "the PATH" });
  }
  return found;
}

/** The interpreter to use, and every candidate with the reason why it was passed over. */
export async function find(folder: vscode.Uri | undefined, cwd: string): Promise<{ found?: Found; tried: Candidate[] }> {
  const tried: Candidate[] = [];
  for (const one of await candidates(folder)) {
    if (!vscode.workspace.isTrusted && insideWorkspace(one.path)) {
      tried.push({ ...one, why: "it lies in the workspace, which is not trusted" });
      continue;
    }
    const script = path.basename(one.path).replace(/\.exe$/, "") === "mirage";
    const answer = script ? await run(one.path, ["--version"], cwd) : await run(one.path, ["-c", PROBE], cwd);
    if (answer.error !== undefined) {
      tried.push({ ...one, why: answer.error });
      continue;
    }
    tried.push({ ...one, why: "" });
    const [version = "", python = ""] = answer.text.trim().split(/\r?\n/);
    const how = script ? { args: ["lsp", "--stdio"], python: "" } : { args: ["-m", "mirage_lsp", "--stdio"], python };
    return { found: { command: one.path, version: version.split(" ").at(-1) ?? "", from: one.from, ...how }, tried };
  }
  return { tried };
}

/** Told when the Python extension's selection changes, and when that extension appears (it may be held back until the workspace
 * is trusted). */
export function onDidSelect(changed: () => void): vscode.Disposable {
  const heard = new Set<string>();
  const watching: vscode.Disposable[] = [];
  const listen = async (first: boolean) => {
    for (const [id, event] of EVENTS) {
      if (heard.has(id) || !vscode.extensions.getExtension(id)) continue;
      heard.add(id);
      const subscribe = event(await api(id));
      if (typeof subscribe === "function") watching.push(subscribe(changed));
      if (!first) changed();
    }
  };
  watching.push(vscode.extensions.onDidChange(() => void listen(false)));
  void listen(true);
  return { dispose: () => watching.forEach((one) => one.dispose()) };
}

const EVENTS: [string, (api: any) => unknown][] = [
  ["ms-python.vscode-python-envs", (api) => api?.onDidChangeEnvironment],
  ["ms-python.python", (api) => api?.environments?.onDidChangeActiveEnvironmentPath],
];

async function fromPythonExtension(folder: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = await api("ms-python.vscode-python-envs");
  const chosen = await environments?.getEnvironment?.(folder);
  const executable = chosen?.execInfo?.run?.executable;
  if (typeof executable === "string" && path.isAbsolute(executable)) return executable;
  const python = (await api("ms-python.python"))?.environments;
  const active = python?.getActiveEnvironmentPath?.(folder);
  const resolved = active && (await python.resolveEnvironment?.(active));
  return resolved?.executable?.uri?.fsPath;
}

/** Another extension's API; undefined where it is missing or does not start. */
async function api(id: string): Promise<any> {
  const extension = vscode.extensions.getExtension(id);
  try {
    return await extension?.activate();
  } catch {
    return undefined; // its own mistake, which it reports itself; the next step is taken
  }
}

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // not there
  }
}

function onPath(name: string): string | undefined {
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue; // a relative entry would be looked up in whatever folder this is
    for (const ending of process.platform === "win32" ? [".exe", ".cmd"] : [""]) {
      const file = path.join(folder, name + ending);
      if (executable(file)) return file;
    }
  }
  return undefined;
}

export function insideWorkspace(file: string): boolean {
  const places = [path.resolve(file), real(file)];
  return (vscode.workspace.workspaceFolders ?? []).some(({ uri }) =>
    [uri.fsPath, real(uri.fsPath)].some((root) => places.some((place) => within(root, place))),
  );
}

function within(root: string, place: string): boolean {
  const way = path.relative(root, place);
  return way === "" || (!way.startsWith("..") && !path.isAbsolute(way));
}

function real(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

export type Ran = { text: string; error?: string };

/** A program's output. `cwd` is never the workspace: Python looks for modules in the folder in which it is started. */
export function run(program: string, args: string[], cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, timeout: PROBE_MS, encoding: "utf8", windowsHide: true }, (error, stdout, stderr) => {
      if (!error) return resolve({ text: stdout });
      const said = stderr.trim().split(/\r?\n/).at(-1);
      resolve({ text: stdout, error: error.killed ? "no answer in time" : said || error.message });
    });
  });
}
