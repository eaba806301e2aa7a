"""Asserts, in PyTorch at the stated shapes, that wrong pairs differ and equal pairs agree (also dtype, shape; aliasing / mutation / strides by `how`)."""
import sys, glob, os, importlib.util, torch
os.environ["MIRAGE_RUNTIME"] = "off"
torch.set_num_threads(1)
DT = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64, "bool": torch.bool, "int64": torch.int64, "int32": torch.int32, "int16": torch.int16, "int8": torch.int8, "uint8": torch.uint8}
def draw(sp, how, g):
    shape, dt = sp; d = DT[dt]
    if how.startswith("ids:"): return torch.randint(0, int(how[4:]), shape, generator=g).to(d)
    if dt == "bool": return torch.rand(shape, generator=g) < 0.5
    if not d.is_floating_point:
        lo, hi = torch.iinfo(d).min, torch.iinfo(d).max
        if d == torch.int64: lo, hi = -2**40, 2**40
        return torch.randint(lo, hi + 1, shape, generator=g).to(d)
    x = torch.randn(shape, generator=g, dtype=torch.float64)
    if how == "pos": x = x.abs() + 0.1
    if how == "u01": x = torch.rand(shape, generator=g, dtype=torch.float64)
    if how == "half": x = torch.randint(-20, 21, shape, generator=g).double() / 2
    if how == "zeros": x = torch.zeros(shape, dtype=torch.float64)
    if how == "nan": x.view(-1)[::7] = float("nan")
    if how == "ties": x = torch.randint(-2, 3, shape, generator=g).double()
    if how.startswith("big"): x = x * float(how[3:])
    if how.startswith("mean"): x = x + float(how[4:])
    return x.to(d)
def leaves(o): return [o] if isinstance(o, torch.Tensor) else [t for e in o for t in leaves(e)]
def run(f, xs):
    f = getattr(f, "__wrapped__", f)
    ys = [x.clone() for x in xs]; o = leaves(f(*ys))
    mut = [not torch.equal(torch.nan_to_num(a.double()), torch.nan_to_num(b.double())) for a, b in zip(xs, ys)]
    ali = [any(t.untyped_storage().data_ptr() == y.untyped_storage().data_ptr() for y in ys) for t in o]
    return o, mut, ali, [t.stride() for t in o]
def differ(a, b):
    if len(a) != len(b): return "number of outputs"
    for s, t in zip(a, b):
        if s.dtype != t.dtype: return f"dtype {s.dtype} {t.dtype}"
        if s.shape != t.shape: return f"shape {tuple(s.shape)} {tuple(t.shape)}"
        u, v = s.double(), t.double()
        if (u.isnan() != v.isnan()).any(): return "nan"
        if (u.isinf() != v.isinf()).any(): return "inf"
        u, v = (torch.nan_to_num(e, posinf=1e300, neginf=-1e300) for e in (u, v))
        rms = (u[u.abs() < 1e299] ** 2).mean().sqrt() if u.numel() else 0
        tol = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float64: 1e-11}.get(s.dtype, 0)
        e = ((u - v).abs() - tol * (u.abs() + rms))
        if e.numel() and (u != v).any() and e.max() > 0: return f"value {(u - v).abs().max():.3g} of rms {rms:.3g}"
    return ""
if __name__ == "__main__":
    bad = 0; n = {}
    for p in sorted(glob.glob(os.path.dirname(os.path.abspath(__file__)) + "/pairs/" + (sys.argv[1] if len(sys.argv) > 1 else "*") + ".py")):
        sp = importlib.util.spec_from_file_location(os.path.basename(p)[:-3], p); m = importlib.util.module_from_spec(sp)
        sys.modules[sp.name] = m; sp.loader.exec_module(m)
        for c in m.CASES:
            d = c["draw"] + [""] * 6
            res = []
            for seed in range(2):
                g = torch.Generator().manual_seed(seed)
                xs = [draw(s, h, g) for s, h in zip(c["inputs"], d)]
                try:
                    torch.manual_seed(seed); A = run(getattr(m, c["a"]), xs); torch.manual_seed(seed); B = run(getattr(m, c["b"]), xs)
                except Exception as e: res.append("ERROR " + repr(e)[:150]); continue
                w = differ(A[0], B[0])
                if not w and not c["equal"]: w = ("mutates" if A[1] != B[1] else "aliasing" if A[2] != B[2] else "strides" if A[3] != B[3] else "")
                res.append(w)
            ok = (not any(res)) if c["equal"] else (all(res) and not any(r.startswith("ERROR") for r in res))
            if not ok: bad += 1; print("BAD", os.path.basename(p), c["name"], c["equal"], res)
            k = (c["class"], c["equal"]); n[k] = n.get(k, 0) + ok
    print(sorted(n.items())); print("right", sum(v for (c, e), v in n.items() if not e), "wrong pairs", sum(v for (c, e), v in n.items() if e), "equal pairs", "BAD", bad)
    sys.exit(bool(bad))
