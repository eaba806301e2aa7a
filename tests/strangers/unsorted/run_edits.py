"""run_edits.py OUT NAME...: mirage verify of edited modules (NAME = MODULE__EDIT[_bare]); LIMIT seconds."""
import sys, io, contextlib, runpy, time, os
sys.path.insert(0, "/tmp/w/strange5/edits")
from edits import EDITS
eq = {f"{e['module']}__{e['name']}": e["equal"] for e in EDITS}
out = open(sys.argv[1], "a"); t00 = time.time(); lim = float(os.environ.get("LIMIT", "75"))
for n in sys.argv[2:]:
    if time.time() - t00 > lim: break
    m = n.split("__")[0]; t0 = time.time(); so, se = io.StringIO(), io.StringIO(); rc = 0
    sys.argv = ["mirage", "verify", f"/tmp/w/strange5/edits/src/{m}.py", f"/tmp/w/strange5/edits/out/{n}.py"]
    try:
        with contextlib.redirect_stdout(so), contextlib.redirect_stderr(se): runpy.run_module("mirage", run_name="__main__")
    except SystemExit as e: rc = e.code
    except BaseException as e: rc = "CRASH " + repr(e)[:100]
    k = eq[n.removesuffix("_bare")]
    print("ok" if (rc == 0) == k else "FALSE-ACCEPT" if rc == 0 else "NOT-EQUAL", n, rc, f"{time.time()-t0:.1f}s |", (so.getvalue() + se.getvalue()).replace("\n", " ")[:400], file=out, flush=True)
