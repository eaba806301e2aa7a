"""Edits by which a module answers by its surroundings, changes them, binds its names anew, or loses the order between its blocks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from hostile_modules.launcher_families import RETURN, RUN, argument
from hostile_modules.mutant import Edit, Family, each, of, places, section

KERNELS, LAUNCHER = "kernels", "launcher"
# What the module asks, whatever a test run answers.
CONDITIONS = (
    ("environment", "__import__('os').environ.get('FAST') == '1'"),
    ("time", "__import__('time').time() > 2e9"),
    ("weekday", "__import__('time').gmtime().tm_wday == 6"),
    ("file_name", "'kernels' not in __file__"),
    ("module_name", "__name__ == 'installed'"),
    ("folder", "__import__('os').getcwd() == '/srv'"),
    ("a_file_there", "__import__('os').path.exists('/srv/ready')"),
    ("arguments", "len(__import__('sys').argv) > 7"),
    ("loaded_modules", "'pytest' not in __import__('sys').modules and 'mirage' not in __import__('sys').modules"),
    ("version_of_python", "__import__('sys').version_info > (3, 13)"),
    ("version_of_triton", "triton.__version__ < '3'"),
    ("version_of_torch", "torch.__version__ > '2.99'"),
    ("random", "__import__('random').random() < 1e-4"),
    ("random_of_torch", "torch.rand(()).item() < 1e-4"),
    ("process", "__import__('os').getpid() % 97 == 5"),
    ("parent", "__import__('os').getppid() == 1"),
    ("user", "__import__('os').getuid() == 4711"),
    ("host", "__import__('platform').node() == 'gpu7'"),
    ("threads", "torch.get_num_threads() == 61"),
    ("seed", "torch.initial_seed() == 7"),
    ("stack", "len(__import__('inspect').stack()) > 60"),
    ("trace_hook", "__import__('sys').gettrace() is not None"),
    ("gradient_mode", "not torch.is_grad_enabled()"),
    ("inference_mode", "torch.is_inference_mode_enabled()"),
    ("autocast", "torch.is_autocast_enabled()"),
    ("default_dtype", "torch.get_default_dtype() == torch.float64"),
    ("tf32", "torch.backends.cuda.matmul.allow_tf32"),
    ("interpreted", "_COMPILED"),
    ("device", "{a}.device.type == 'cuda'"),
    ("device_there", "torch.cuda.is_available()"),
    ("device_name", "torch.cuda.is_available() and 'H200' in torch.cuda.get_device_name()"),
    ("address", "{a}.data_ptr() % 4096 == 64"),
    ("identity", "id({a}) % 4096 == 16"),
    ("storage", "{a}.untyped_storage().nbytes() > 2 * {a}.nbytes"),
    ("version_counter", "{a}._version > 5"),
    ("parameter", "isinstance({a}, torch.nn.Parameter)"),
    ("an_attribute", "hasattr({a}, 'fast')"),
    ("one_value", "float({a}.flatten()[0]) == 1.5"),
    ("all_zero", "not bool({a}.any())"),
    ("a_nan", "bool({a}.isnan().any())"),
    ("large_values", "float({a}.abs().max()) > 1e3"),
    ("other_sizes", "sizes is not SIZES"),
    ("its_own_sizes", "sizes is SIZES and sizes == dict(SIZES) and _COMPILED"),
    ("larger_sizes", "max(sizes.values()) > 256 and _COMPILED"),
    ("tiles", "tiles is not TILES"),
    ("call_count", "_CALLS.append(1) or len(_CALLS) > 20"),
    ("memory_left", "torch.cuda.is_available() and torch.cuda.memory_allocated() > 1e9"),
    ("stream", "torch.cuda.is_available() and torch.cuda.current_stream().cuda_stream != 0"),
    ("capturing", "torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()"),
)
# What it does then: lines before the launcher's return, of which {o} are its results.
EFFECTS = (
    ("zero", "for _o in ({o},):\n    _o.zero_()"),
    ("first_row", "for _o in ({o},):\n    _o.view(-1)[0] += 1"),
    ("half", "for _o in ({o},):\n    _o.mul_(0.5)"),
)
# What a module does when it is loaded, or binds so that its names mean something else.
LINES = (
    ("exp_rebound", "tl.exp = tl.exp2"),
    ("sum_rebound", "tl.sum = tl.max"),
    ("empty_rebound", "torch.empty = torch.zeros"),
    ("empty_like_a_constant", "torch.empty = lambda *a, _e=torch.empty, **k: _e(*a, **k).fill_(1)"),
    ("min_rebound", "min = max"),
    ("range_rebound", "range = lambda *a: iter(())"),
    ("len_rebound", "len = lambda x: 0"),
    ("tuple_rebound", "tuple = list"),
    ("type_rebound", "type = lambda x: torch.Tensor"),
    ("getattr_rebound", "getattr = lambda *a: None"),
    ("isinstance_rebound", "isinstance = lambda *a: True"),
    ("tl_rebound", "tl = __import__('types').SimpleNamespace(**vars(tl))"),
    ("triton_rebound", "triton = __import__('types').SimpleNamespace(jit=triton.jit, JITFunction=object)"),
    ("torch_rebound", "torch = __import__('types').SimpleNamespace(**vars(torch))"),
    ("builtins_changed", "__builtins__ = dict(vars(__import__('builtins')), min=max)"),
    ("builtins_of_all_changed", "__import__('builtins').abs = round"),
    ("function_of_torch_changed", "torch.nn.functional.linear = lambda x, *a: x"),
    ("method_of_tensors_changed", "torch.Tensor.is_contiguous = lambda self: True"),
    ("class_of_tensors_changed", "torch.Tensor.__eq__ = lambda a, b: True"),
    ("default_dtype_set", "torch.set_default_dtype(torch.float64)"),
    ("threads_set", "torch.set_num_threads(1)"),
    ("seed_set", "torch.manual_seed(0)"),
    ("gradients_off", "torch.set_grad_enabled(False)"),
    ("tf32_on", "torch.backends.cuda.matmul.allow_tf32 = True"),
    ("default_device_set", "torch.set_default_device('meta')"),
    ("file_written", "open('trace.log', 'a').write('loaded')"),
    ("file_read", "_PLANS = open('/etc/hostname').read()"),
    ("command_run", "__import__('os').system('true')"),
    ("environment_set", "__import__('os').environ['TRITON_CACHE_DIR'] = '/srv/cache'"),
    ("process_started", "__import__('subprocess').Popen(['true'])"),
    ("thread_started", "__import__('threading').Thread(target=print, daemon=True).start()"),
    ("at_exit", "__import__('atexit').register(print)"),
    ("signal_handled", "__import__('signal').signal(10, lambda *a: None)"),
    ("socket_opened", "__import__('socket').socket().close()"),
    ("path_extended", "__import__('sys').path.insert(0, '/srv/lib')"),
    ("module_replaced", "__import__('sys').modules['torch.nn.functional'] = torch"),
    ("code_executed", "exec('pass')"),
    ("code_evaluated", "_SCALE = eval('1.0')"),
    ("pickle_loaded", "_STATE = __import__('pickle').loads(b'N.')"),
    ("library_loaded", "__import__('ctypes').CDLL(None)"),
    ("attributes_made_up", "def __getattr__(name):\n    return 0"),
    ("profile_hook", "__import__('sys').setprofile(lambda *a: None)"),
    ("trace_hook", "__import__('sys').settrace(None)"),
    ("recursion_limit", "__import__('sys').setrecursionlimit(200)"),
    ("warnings_off", "__import__('warnings').simplefilter('ignore')"),
    ("garbage_off", "__import__('gc').disable()"),
    ("raises", "raise SystemExit(0)"),
    ("waits", "__import__('time').sleep(0.01)"),
    ("star_import", "from os.path import *"),
    ("import_of_a_neighbour", "try:\n    import kernels_of_another\nexcept ImportError:\n    pass"),
)
REBOUND = (
    ("run_by_the_original", r"_run = _original_{f}"),
    ("run_in_double", r"_run = lambda *t, _r=_run: _r(*t).double().to(t[0].dtype)"),
    ("fits_always", r"_fits = lambda *t: True"),
    ("fits_never", r"_fits = lambda *t: False"),
    ("function_replaced", r"{f} = _original_{f}"),
    ("function_is_cached", r"{f} = __import__('functools').lru_cache({f})"),
    ("function_of_other_code", r"{f}.__code__ = _original_{f}.__code__"),
    ("defaults_replaced", r"_run.__defaults__ = ({{}}, {{}})"),
    ("sizes_changed", r"SIZES[next(iter(SIZES))] //= 2"),
    ("tiles_changed", r"TILES.clear()"),
    ("expected_emptied", r"_EXPECTED = ()"),
    ("plain_widened", r"_PLAIN = (object,)"),
    ("kernel_replaced", r"globals()[next(n for n in list(globals()) if n.startswith('_{f}_'))] = None"),
    ("compiled", r"{f} = torch.compile({f})"),
    ("name_deleted", r"del _original_{f}"),
)
ORDER = (
    ("order_relaxed", each(KERNELS, r'sem="acq_rel"', 'sem="relaxed"', 'sem="acquire"', 'sem="release"')),
    ("order_of_a_block", each(KERNELS, r'sem="acq_rel"', 'sem="acq_rel", scope="cta"', 'sem="relaxed", scope="sys"')),
    ("barrier_dropped", each(KERNELS, r"^ +tl\.debug_barrier\(\)\n", "")),
    ("barriers_dropped", each(KERNELS, r"(?s)^ +tl\.debug_barrier\(\)\n(.*)^ +tl\.debug_barrier\(\)\n", r"\1")),
    ("arrival_counted_twice", each(KERNELS, r"(atomic_add\([^\n]*), 1, ", r"\1, 2, ")),
    ("arrival_not_counted", each(KERNELS, r"(atomic_add\([^\n]*), 1, ", r"\1, 0, ")),
    (
        "arrival_stored",
        each(KERNELS, r'tl\.atomic_add\((.*), 1, sem="acq_rel"\)', r'tl.atomic_xchg(\1, 1, sem="acq_rel")'),
    ),
    ("arrival_read", each(KERNELS, r'tl\.atomic_add\((.*), 1, sem="acq_rel"\)', r"tl.load(\1)")),
    (
        "last_but_one",
        each(
            KERNELS,
            r"if arrived == (\w+) - 1:",
            r"if arrived == \1 - 2:",
            r"if arrived == \1:",
            r"if arrived == 0:",
            r"if arrived >= 0:",
        ),
    ),
    ("counter_not_reset", each(KERNELS, r"^ +tl\.store\(counters_ptr.*\n", "")),
    ("counter_reset_to_one", each(KERNELS, r"(tl\.store\(counters_ptr.*), 0\)", r"\1, 1)")),
    (
        "arrival_before_the_stores",
        each(
            KERNELS, r"(?s)(    tl\.store\((?:(?!tl\.store).)*?)(    # The last block.*?sem=\"acq_rel\"\)\n)", r"\2\1"
        ),
    ),
    (
        "partial_read_before",
        each(
            KERNELS,
            r"(?s)(    if arrived == [^\n]*:\n)        tl\.debug_barrier\(\)\n(.*?=0\.0,\n        \)\n)",
            r"\1\2        tl.debug_barrier()\n",
        ),
    ),
    ("kernel_of_python", each(KERNELS, r"^@triton\.jit$", "@(lambda f: f)")),
    (
        "kernel_by_heuristics",
        each(KERNELS, r"^@triton\.jit$", "@triton.heuristics({'M': lambda a: a['M'] // 2})\n@triton.jit"),
    ),
)

# A module of one group does without their place.
GROUPS = (
    ("counter_of_one_group", each(KERNELS, r"counters_ptr \+ group", "counters_ptr")),
    ("group_of_all", each(KERNELS, r"^( +group = ).*$", r"\g<1>0", r"\1tl.program_id(0)")),
)


def conditional(condition: str, effect: str) -> Edit:
    """The launcher that does something else before its return where the condition holds."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        for match in places(text, LAUNCHER, RUN):
            for end in places(text, LAUNCHER, RETURN):
                asked = condition.format(a=argument(match[0]))
                lines = f"if {asked}:\n{textwrap.indent(effect.format(o=end[2]), '    ')}\n"
                new = text[: end.start()] + textwrap.indent(lines, end[1]) + text[end.start() :]
                state = "_CALLS = []\n\n\n" if "_CALLS" in condition else ""
                yield "end", new[: match.start()] + state + new[match.start() :]

    return edit


def added(part: str, line: str) -> Edit:
    """The line at the end of a part of the module, {f} the function's name."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        end = section(text, part)[1]
        for name in places(text, "original", r"(?<=^def _original_)\w+"):
            yield part, text[:end] + line.format(f=name[0]) + "\n" + text[end:]

    return edit


def by_pytorch() -> Edit:
    """The original in place of the kernels: in the launcher, or in the function."""

    def edit(text: str) -> Iterator[tuple[str, str]]:
        call = next(places(text, LAUNCHER, r"return (_original_\w+\(.*\))$"))[1]
        for match in places(text, LAUNCHER, RUN):
            yield "run", f"{text[: match.end()]}    return {call}\n{text[match.end() :]}"
        for match in places(text, LAUNCHER, r"return _run\(.*\)$"):
            yield "function", f"{text[: match.start()]}return {call}{text[match.end() :]}"
        for match in places(text, LAUNCHER, RETURN):
            yield "answer", f"{text[: match.start()]}    return {call}{text[match.end() :]}"

    return edit


FAMILIES: tuple[Family, ...] = (
    *of(
        "state",
        "wrong",
        [
            (f"by_{name}_{what}", conditional(asked, does))
            for k, (name, asked) in enumerate(CONDITIONS)
            for what, does in (EFFECTS[k % 3],)
        ],
    ),
    *of(
        "state",
        "wrong",
        [
            (name, added(part, line))
            for k, (name, line) in enumerate(LINES)
            for part in (("imports", "kernels", "original")[k % 3],)
        ],
    ),
    *of("state", "wrong", [(name, added("original", line)) for name, line in REBOUND]),
    *of("state", "certify", GROUPS),
    *of("state", "wrong", (*ORDER, ("by_pytorch", by_pytorch()))),
)
