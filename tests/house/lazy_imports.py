"""The imports of our own modules that stand inside functions: module -> imported module -> reason.

All keep a start light. `test_lazy_imports.py` compares the table with the code, both ways.
"""

from __future__ import annotations

COMMAND = "`mirage COMMAND --help` and wrong usage load nothing of the search or the verifier"
DECORATOR = "a decorated function costs its program nothing until its first call, and then only what that call needs"
GRAPH = "a script builds graphs without loading the search, the verifier or the files' reader"
CLIENT = "a client that blocks does without asyncio"
SERVER = "an editor's server is ready before anything is shown, and a daemon before anything is asked"
TRITON = "its kernels are compiled from the file's text, so it imports torch and triton at its top"
WORKER = "a worker's start waits for nothing that it does not use"
KIND = "only the kind of shared cache that the settings name needs its package"
REASONS = (COMMAND, DECORATOR, GRAPH, CLIENT, SERVER, TRITON, WORKER, KIND)

LAZY: dict[str, dict[str, str]] = {
    "mirage.cli": {"mirage.cli": COMMAND},
    "mirage.cli.optimize": {
        "mirage.cli.daemon_question": COMMAND,
        "mirage.pipeline.optimize": COMMAND,
        "mirage.pipeline.request_payload": COMMAND,
        "mirage.runtime": COMMAND,
    },
    "mirage.cli.place_argument": {"mirage.verify.proof.user_rules": COMMAND},
    "mirage.cli.show": {
        "mirage.pipeline.optimize": COMMAND,
        "mirage.pipeline.request": COMMAND,
        "mirage.results.progress": COMMAND,
    },
    "mirage.cli.verify": {
        "mirage.cli": COMMAND,
        "mirage.cli.judged_row": COMMAND,
        "mirage.cli.traces_ahead": COMMAND,
        "mirage.cli.verify_by_daemon": COMMAND,
        "mirage.cli.verify_subjects": COMMAND,
        "mirage.cli.worker_queue": COMMAND,
        "mirage.cli.write_certificate": COMMAND,
        "mirage.devices.table": COMMAND,
        "mirage.isolate.runner": COMMAND,
        "mirage.mugraph.check": COMMAND,
        "mirage.pipeline.request": COMMAND,
        "mirage.results.verdict": COMMAND,
        "mirage.verify": COMMAND,
        "mirage.verify.counterexamples": COMMAND,
        "mirage.verify.counterexamples.float_search": COMMAND,
        "mirage.verify.judge": COMMAND,
        "mirage.verify.real_sizes.opinion": COMMAND,
        "mirage.verify.two_programs": COMMAND,
    },
    "mirage.link": {"mirage.link.async_client": CLIENT, "mirage.link.client": WORKER},
    "mirage.profile.gpu_timing": {"mirage.profile.streaming_read": TRITON},
    "mirage.profile.parallel_compile": {"mirage.profile.streaming_read": TRITON},
    "mirage.profile.tune": {"mirage.profile.streaming_read": TRITON},
    "mirage.runtime.daemon_kernels": {
        "mirage.results.codec": DECORATOR,
        "mirage.runtime.decorator": DECORATOR,
        "mirage.runtime.slice_identity": DECORATOR,
        "mirage.verify.structure.loadable": DECORATOR,
    },
    "mirage.runtime.daemon_thread": {"mirage.link.client": DECORATOR, "mirage.runtime": DECORATOR},
    "mirage.runtime.decorator": {
        "mirage.errors": DECORATOR,
        "mirage.link": DECORATOR,
        "mirage.runtime": DECORATOR,
        "mirage.runtime.call_guards": DECORATOR,
        "mirage.runtime.daemon_kernels": DECORATOR,
        "mirage.runtime.daemon_thread": DECORATOR,
        "mirage.runtime.observed_calls": DECORATOR,
        "mirage.runtime.slice_identity": DECORATOR,
        "mirage.verify.structure.loadable": DECORATOR,
    },
    "mirage.runtime.installed_kernels": {"mirage.source.slice": DECORATOR},
    "mirage.runtime.observed_calls": {"mirage.runtime": DECORATOR},
    "mirage.runtime.slice_identity": {"mirage.source.slice": DECORATOR},
    "mirage_original.graph_builder": {
        "mirage.mugraph.draw": GRAPH,
        "mirage_original.block_as_torch": GRAPH,
        "mirage_original.found_mugraph": GRAPH,
        "mirage_original.hand_written": GRAPH,
        "mirage_original.json_files": GRAPH,
        "mirage_original.superoptimize": GRAPH,
        "mirage_original.to_mugraph": GRAPH,
    },
    "mirage_daemon.daemon_command": {"mirage_daemon.lifecycle": COMMAND},
    "mirage_daemon.lifecycle": {
        "mirage_daemon.cluster": SERVER,
        "mirage_daemon.remote_cache": SERVER,
        "mirage_daemon.remote_place": SERVER,
    },
    "mirage_daemon.remote_place": {
        "mirage_daemon.remote_http": KIND,
        "mirage_daemon.remote_redis": KIND,
        "mirage_daemon.remote_s3": KIND,
    },
    "mirage_daemon.jobs": {"mirage.verify.structure.loadable": SERVER},
    "mirage_daemon.function_text": {
        "mirage.source": SERVER,
        "mirage.source.slice": SERVER,
        "mirage.source.statements": SERVER,
    },
    "mirage_lsp.lsp_command": {"mirage_lsp.server": COMMAND},
    "mirage_lsp.hover_text": {"mirage.derivation": SERVER, "mirage.mugraph": SERVER},
    "mirage_lsp.panel_data": {"mirage.mugraph": SERVER},
    "mirage_lsp.server": {
        "mirage_lsp.daemon_jobs": SERVER,
        "mirage_lsp.diagnostics": SERVER,
        "mirage_lsp.panel_data": SERVER,
        "mirage_lsp.progress": SERVER,
        "mirage_lsp.session": SERVER,
        "mirage_lsp.workspace_folders": SERVER,
    },
}
