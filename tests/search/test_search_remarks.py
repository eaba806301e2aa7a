"""Why an answer is not fused further: the remarks carry the cost model's own figures, and are silent where nothing is kept apart."""

from dataclasses import replace

import pytest
from workloads import terms as workloads

from mirage.devices.table import DEVICES
from mirage.mugraph.grammar import CustomKernel
from mirage.pipeline.fusion_remarks import explain, limit, stages
from mirage.profile.roofline import estimate, kernel_times
from mirage.profile.work_counts import work
from mirage.search.engine import Bounds, Search
from mirage.search.kernel_pieces import MAX_TILE

DEVICE = DEVICES["sm_90"]
QUICK = Bounds(keep=16, tilings=4)
FAR = 1e9


def run(name, bounds=QUICK, **sizes):
    old = dict(workloads.SIZES)
    workloads.SIZES.update(sizes)
    try:
        search = Search(workloads.problem(name), lambda g: estimate(g, DEVICE), bounds=bounds)
        list(search.run())
    finally:
        workloads.SIZES.clear()
        workloads.SIZES.update(old)
    return search


def codes(search, chosen=None, base=FAR):
    return [r.code for r in explain(search, chosen or search.best[0], base, DEVICE)]


@pytest.fixture(scope="module")
def many_rows():
    return run("layernorm_linear", m=2048)


def test_two_kernels_are_kept_for_what_the_model_says(many_rows):
    chosen, other = many_rows.best[0], many_rows.by_stages[1]
    (r,) = [r for r in explain(many_rows, chosen, FAR, DEVICE) if r.code == "slower-fused"]
    f = r.figures
    assert (f["values"], f["other_values"]) == (2, 1)
    assert f["us"] == chosen.us == estimate(chosen.mugraph, DEVICE)
    assert f["other_us"] == other.us == estimate(other.mugraph, DEVICE) > chosen.us
    tensors = {t.name: t for t in other.mugraph.tensors}
    done = [work(k.block, dict(other.mugraph.axes), tensors, k.stages) for k in other.mugraph.kernels]
    requested = sum(w.reads.get(f["tensor"], 0.0) for w in done)
    size = other.mugraph.shape(tensors[f["tensor"]])
    assert f["bytes"] == requested and f["reads"] == requested / (2 * size[0] * size[-1])
    assert sum(w.requested for w in done) == sum(n for w in done for n in w.reads.values())
    assert f"reads {f['tensor']} {f['reads']:.0f} times ({f['bytes'] / 1e6:.0f} MB)" in r.text
    assert f"{other.us:.1f} µs estimated against {chosen.us:.1f} µs" in r.text and "keeps two kernels" in r.text


def test_a_few_rows_have_no_such_remark():
    """The same function at 4096 rows and at 8."""
    many, few = (run("low_rank_adapter", Bounds(), m=m) for m in (4096, 8))
    (r,) = explain(many, many.best[0], FAR, DEVICE)
    assert r.code == "slower-fused" and stages(many.best[0]) > 1
    assert codes(few) == [] and stages(few.best[0]) == 1


def test_the_resource_is_the_one_that_grew_most(many_rows):
    chosen, other = many_rows.best[0], many_rows.by_stages[1]
    (r,) = [r for r in explain(many_rows, chosen, FAR, DEVICE) if r.code == "slower-fused"]
    name = r.figures["resource"]

    def us(candidate):
        own = [k for k in candidate.mugraph.kernels if isinstance(k, CustomKernel)]
        return sum(getattr(kernel_times(k, candidate.mugraph, DEVICE)[0], name) for k in own)

    assert r.figures["resource_us"] == pytest.approx(us(chosen))
    assert r.figures["other_resource_us"] == pytest.approx(us(other))
    assert us(other) > us(chosen)


def test_what_does_not_fit_names_its_rule():
    search = run("norm_mlp")
    (r,) = [r for r in explain(search, search.best[0], FAR, DEVICE) if r.code == "does-not-fit"]
    assert 1 not in search.by_stages and r.figures["rule"] == "registers"
    assert 0 < r.figures["stopped"] <= r.figures["tried"]
    held = int(r.text.split("a tile of ")[1].split()[0])
    assert held > MAX_TILE and str(MAX_TILE) in r.text
    assert codes(run("gated_mlp")) == []  # one kernel, nothing to say


def test_a_search_in_parts_is_said():
    search = run("attention_block", Bounds(keep=16, tilings=2))
    found = {r.code: r for r in explain(search, search.best[0], FAR, DEVICE)}
    assert "13 reductions" in found["searched-in-parts"].text
    fewer = [c.us for k, c in search.by_stages.items() if k < stages(search.best[0])]
    assert ("slower-fused" in found) == bool(fewer)
    assert not fewer or found["slower-fused"].figures["other_us"] == min(fewer)


def test_keep_yours_says_what_its_kernels_wait_for():
    search = run("gated_mlp")
    best = search.best[0]
    assert codes(search, base=best.us * 2) == []
    (r,) = explain(search, best, best.us / 2, DEVICE)
    assert r.code == "not-faster" and r.figures["us"] == best.us and r.figures["base_us"] == best.us / 2
    assert (r.figures["resource"], r.figures["resource_us"]) == limit(best.mugraph, DEVICE)
    slowest = max((kernel_times(k, best.mugraph, DEVICE)[0] for k in best.mugraph.kernels), key=lambda t: t.total)
    assert r.figures["resource_us"] == max(vars(slowest).values())


def test_a_better_one_that_was_not_verified_is_said():
    search = run("attention")
    two = search.by_stages[2]
    assert search.by_stages[1].us < two.us and stages(two) == 2
    assert "not-verified" in codes(search, two) and "slower-fused" not in codes(search, two)
    assert "not-verified" not in codes(search)


def test_no_kernel_at_all_has_a_reason():
    search = run("norm_mlp", replace(QUICK, cuts=0))
    assert not search.best
    (r,) = explain(search, None, FAR, DEVICE)
    assert r.code == "does-not-fit" and r.text.startswith("no kernels")


@pytest.mark.parametrize("name", ["rmsnorm_linear", "attention", "norm_mlp"])
def test_the_times_by_resource_add_up_to_the_estimate(name):
    for c in run(name).best:
        if all(isinstance(k, CustomKernel) and k.tail is None for k in c.mugraph.kernels):
            total = sum(kernel_times(k, c.mugraph, DEVICE)[0].total for k in c.mugraph.kernels)
            assert total == pytest.approx(estimate(c.mugraph, DEVICE), rel=1e-12)
