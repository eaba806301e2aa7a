"""Attempts of a module under verification to be accepted: by forging the answer, or by changing who judges."""

from __future__ import annotations

from .attempt import table

LINE = "b'{\"accepted\": true}\\n'"

FORGED = {
    "write the answer to every descriptor and end": f"""
for fd in range(3, 256):
    try:
        os.write(fd, {LINE})
    except OSError:
        continue
os._exit(0)
""",
    "write the answer and go on": f"""
for fd in range(3, 256):
    try:
        os.write(fd, {LINE})
    except OSError:
        continue
""",
    "write the answer by /proc": f"""
for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2 and os.readlink("/proc/self/fd/" + name).startswith(("pipe:", "socket:")):
            with open("/proc/self/fd/" + name, "wb", buffering=0) as pipe:
                pipe.write({LINE})
    except OSError:
        continue
""",
    "write the answer in a framed form as well": f"""
packed = b"\\x81\\xa8accepted\\xc3"
for fd in range(3, 256):
    for text in ({LINE}, struct.pack(">I", len(packed)) + packed, struct.pack("<I", len(packed)) + packed):
        try:
            os.write(fd, text)
        except OSError:
            continue
os._exit(0)
""",
    "write the answer from a child": f"""
def work():
    for fd in range(3, 256):
        try:
            os.write(fd, {LINE})
        except OSError:
            continue
os.waitpid(child(work), 0)
""",
    "write the answer from a thread": f"""
def work():
    for fd in range(3, 256):
        try:
            os.write(fd, {LINE})
        except OSError:
            continue
thread = threading.Thread(target=work)
thread.start()
thread.join()
""",
    "exchange what writes": f"""
write = os.write
os.write = lambda fd, text: write(fd, {LINE})
""",
    "exchange what packs": """
import json
json.dumps = lambda *_, **__: '{"accepted": true}'
try:
    import msgpack
    packb = msgpack.packb
    msgpack.packb = lambda value, *a, **k: packb({**value, "accepted": True} if isinstance(value, dict) else value, *a, **k)
except ImportError:
    print("no msgpack")
""",
    "exchange what compares": """
import builtins
builtins.all = lambda *_: True
builtins.any = lambda *_: False
builtins.abs = lambda *_: 0.0
builtins.max = lambda *_, **__: 0.0
""",
    "exchange what compares tensors": """
import builtins
builtins.abs = lambda *_: 0.0
try:
    import torch
    torch.allclose = torch.equal = lambda *_, **__: True
    torch.Tensor.__eq__ = torch.Tensor.eq = lambda self, other: torch.ones_like(self, dtype=torch.bool)
    torch.testing.assert_close = lambda *_, **__: None
except ImportError:
    print("no torch")
""",
    "exchange the functions of callers": """
frame = sys._getframe()
while frame:
    for name, value in list(frame.f_globals.items()):
        if callable(value) and "judge" in name:
            frame.f_globals[name] = lambda *_, **__: True
    frame = frame.f_back
""",
    "exchange code of functions in place": """
import gc
yes = (lambda *_, **__: True).__code__
for value in gc.get_objects():
    if type(value) is type(hold) and "judge" in value.__name__ and not value.__closure__:
        value.__code__ = yes
""",
    "a trace function that changes what returns": """
import json
plain = json.dumps
def watch(frame, event, _):
    if frame.f_code is plain.__code__ and event == "call":
        frame.f_locals["obj"]["accepted"] = True
    return None
sys.setprofile(watch)
""",
    "an object that equals everything": """
class Any(float):
    def __sub__(self, other):
        return 0.0
    __rsub__ = __sub__
    def __eq__(self, other):
        return True
    __hash__ = float.__hash__
values = [Any(7.0)]
""",
    "a list that is as long as needed": """
class Values(list):
    def __len__(self):
        return 1
    def __iter__(self):
        return iter([1.0])
values = Values()
""",
    "an exit handler that answers": f"""
import atexit
def last():
    for fd in range(3, 256):
        try:
            os.write(fd, {LINE})
        except OSError:
            continue
atexit.register(last)
sys.exit()
""",
    "a finder of modules that answers": f"""
class Finder:
    def find_spec(self, *_):
        for fd in range(3, 256):
            try:
                os.write(fd, {LINE})
            except OSError:
                continue
sys.meta_path.insert(0, Finder())
try:
    import json.another
except ImportError:
    print("not there")
""",
    "a destructor that answers": f"""
class Last:
    def __del__(self, write=os.write):
        for fd in range(3, 256):
            try:
                write(fd, {LINE})
            except OSError:
                continue
Last()
""",
    "a handler of a signal that answers": f"""
def answer(*_):
    for fd in range(3, 256):
        try:
            os.write(fd, {LINE})
        except OSError:
            continue
signal.signal(signal.SIGALRM, answer)
signal.setitimer(signal.ITIMER_REAL, 0.01)
hold(0.1)
""",
    "its own text on the answer's descriptor": f"""
for fd in range(3, 256):
    try:
        if os.readlink(f"/proc/self/fd/{{fd}}").startswith(("pipe:", "socket:")):
            os.dup2(fd, 1)
            os.write(1, {LINE})
    except OSError:
        continue
""",
    "another program in its place": f"""
text = "import os\\nfor fd in range(3, 256):\\n try: os.write(fd, " + repr({LINE}) + ")\\n except OSError: continue"
for fd in range(3, 256):
    try:
        os.set_inheritable(fd, True)
    except OSError:
        continue
os.execv(sys.executable, [sys.executable, "-IS", "-c", text])
""",
    "the caller's memory of the verdict": """
import ctypes.util
address = id(False) + 24
ctypes.memmove(address, ctypes.byref(ctypes.c_uint32(1)), 4)
import json
json.encoder.c_make_encoder = None
json.dumps = lambda *_, **__: '{"accepted": true}'
""",
}

ATTEMPTS = table("forging the verdict", "forged", FORGED, kinds=("verification",))
