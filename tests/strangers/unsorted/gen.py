"""Writes pairs/*.py from tables. Row: (name, class, inputs, A, B, why[, draw])."""
import os, re
D = os.path.dirname(os.path.abspath(__file__))
def spec(s):
    out = []
    for p in s.split(";"):
        t = p.split(); out.append((tuple(int(v) for v in t[:-1]), t[-1]))
    return out
def fn(name, sp, body):
    args = ", ".join("xyzwuv"[:len(sp)])
    lines = body.strip("\n").split("\n") if "\n" in body else ["return " + body] if not re.match(r".*;;", body) else [l.strip(" ") if not l.startswith("    ") else l for l in body.split(";;")]
    if ";;" in body or "\n" in body:
        if not lines[-1].lstrip().startswith("return"): lines[-1] = "return " + lines[-1].lstrip()
    return f"@mirage.optimize(inputs={sp!r})\ndef {name}({args}):\n" + "\n".join("    " + l for l in lines) + "\n\n\n"
def write(file, rows, equal):
    seen = set()
    o = '"""Pairs of a hostile reviewer."""\nimport math\n\nimport torch\nimport torch.nn.functional as F\n\nimport mirage\n\n\n'
    cs = []
    for r in rows:
        n, c, i, a, b, why = r[:6]; dr = r[6] if len(r) > 6 else ""
        assert n not in seen, n
        seen.add(n); sp = spec(i)
        o += fn(n + "_a", sp, a) + fn(n + "_b", sp, b)
        cs.append(dict(name=n, **{"class": c}, a=n + "_a", b=n + "_b", inputs=sp, equal=equal, why=why, draw=dr.split()))
    o += "CASES = [\n" + "".join(f"    {c!r},\n" for c in cs) + "]\n"
    open(f"{D}/pairs/{file}.py", "w").write(o); return len(cs)
if __name__ == "__main__":
    import rows
    for f, (r, e) in rows.FILES.items(): print(f, write(f, r, e))
