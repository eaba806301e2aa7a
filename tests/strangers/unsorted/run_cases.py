"""run_cases.py OUT FILE...: asks `mirage verify A B --json` of each case in one process (runpy of mirage's command line)."""
import sys, json, io, contextlib, runpy, time, ast, os
out = open(sys.argv[1], "a")
limit = float(os.environ.get("LIMIT", "400")); t00 = time.time()
only = set(os.environ.get("ONLY", "").split())
for f in sys.argv[2:]:
    p = f"/tmp/w/strange5/pairs/{f}.py"
    src = open(p).read(); cases = ast.literal_eval(src[src.rindex("CASES = ") + 8:])
    for c in cases:
        if only and c["name"] not in only: continue
        if time.time() - t00 > limit: print("limit", file=out); sys.exit()
        t0 = time.time(); so, se = io.StringIO(), io.StringIO(); rc = 0
        sys.argv = ["mirage", "verify", f"{p}::{c['a']}", f"{p}::{c['b']}"]
        try:
            with contextlib.redirect_stdout(so), contextlib.redirect_stderr(se): runpy.run_module("mirage", run_name="__main__")
        except SystemExit as e: rc = e.code
        except BaseException as e: rc = "CRASH " + repr(e)[:100]
        t = (so.getvalue() + se.getvalue()).strip()
        flag = "" if (rc == 0) == c["equal"] else "FALSE-ACCEPT" if rc == 0 else "NOT-EQUAL"
        print(flag or "ok", f, c["name"], rc, f"{time.time()-t0:.1f}s", "|", t.replace("\n", " ")[:400], file=out, flush=True)
