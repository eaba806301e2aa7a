// The members of ms-python.python's API that the extension under test asks for; the real one is not in any registry reached here.
const vscode = require("vscode");

exports.activate = () => {
  const emitter = new vscode.EventEmitter();
  const path = () => vscode.workspace.getConfiguration("standIn").get("python", "");
  vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("standIn.python") && emitter.fire({ path: path() }));
  return {
    environments: {
      onDidChangeActiveEnvironmentPath: emitter.event,
      getActiveEnvironmentPath: () => ({ id: path(), path: path() }),
      resolveEnvironment: async (environment) => (environment.path ? { executable: { uri: vscode.Uri.file(environment.path) } } : undefined),
    },
  };
};
