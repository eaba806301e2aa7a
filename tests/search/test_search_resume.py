"""A search that was killed goes on from its checkpoint: finished parts are not searched again, and the end is the same."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
from workloads import whole_searches
from workloads.whole_searches import FEW, search

from mirage.results.progress import CancelToken
from mirage.search.checkpoint import Checkpoint, decode, encode
from mirage.search.engine import Bounds, Search
from mirage.search.subproblems import Key, SharedWork

NAMES = ["norm_mlp", "attention_block"]  # whole, and in parts


class Kill(BaseException):
    """The process ends here."""


def answers(s: Search, found) -> object:
    c = s.counts
    counts = c.values, c.systems, c.structures, c.mugraphs, c.parts, c.cut_sets, c.exhaustive, sorted(c.limits)
    return [x.mugraph for x in found], [(x.mugraph, x.us, x.label, x.structure) for x in s.best], counts, s.tried


@pytest.fixture(scope="module")
def whole():
    ended = {name: whole_searches.whole(name) for name in NAMES}
    return {name: answers(w.search, w.found) for name, w in ended.items()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The checkpoint of a search of norm_mlp that came to its end."""
    path = tmp_path_factory.mktemp("ended") / "checkpoint"
    list(search("norm_mlp", checkpoint=Checkpoint(path)).run())
    return path.read_text()


@dataclass(frozen=True)
class Killed:
    """What a search leaves when it is killed: its checkpoint's text, in the middle of a line, and the parts that it has searched."""

    text: str
    done: tuple[Key, ...]


SEEDS = range(3)


@pytest.fixture(scope="module")
def killed(whole, tmp_path_factory):
    """By name and seed. One search of a name is looked at where each seed's kill comes, and is killed at the last."""
    real, found = SharedWork.search, {}
    for name in NAMES:
        path, done = tmp_path_factory.mktemp(name) / "checkpoint", []
        chances = {seed: random.Random(seed) for seed in SEEDS}
        alive = {seed: rng.randrange(1, whole[name][2][4]) for seed, rng in chances.items()}  # parts until the kill

        def counted(self, key, guard, name=name, path=path, done=done, chances=chances, alive=alive):
            for seed in (seed for seed in SEEDS if alive[seed] == len(done)):
                text = path.read_text()
                found[name, seed] = Killed(text + text.split("\n")[-2][: chances[seed].randrange(5, 200)], tuple(done))
            if len(done) == max(alive.values()):
                raise Kill
            part = real(self, key, guard)
            done.append(key)
            return part

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SharedWork, "search", counted)
            with pytest.raises(Kill):
                list(search(name, checkpoint=Checkpoint(path)).run())
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_killed_and_resumed_it_ends_the_same(name, seed, whole, killed, tmp_path: Path, monkeypatch):
    path, before = tmp_path / "checkpoint", killed[name, seed]
    path.write_text(before.text)
    done = list(before.done)
    real = SharedWork.search

    def counted(self, key, guard):
        done.append(key)
        return real(self, key, guard)

    monkeypatch.setattr(SharedWork, "search", counted)
    taken = Checkpoint(path)
    again = search(name, checkpoint=taken)
    found = list(again.run())
    assert answers(again, found) == whole[name]
    assert taken.taken == len(before.done) > 0
    assert len(done) == len(set(done)) == whole[name][2][4]  # nothing twice, nothing left out


def test_a_cancelled_search_goes_on_too(whole, tmp_path):
    path, token = tmp_path / "checkpoint", CancelToken()
    steps = search("norm_mlp", checkpoint=Checkpoint(path), cancel=token).run()
    next(steps)
    steps.close()
    again = search("norm_mlp", checkpoint=Checkpoint(path))
    assert answers(again, list(again.run())) == whole["norm_mlp"]


def test_a_checkpoint_of_another_search_is_not_taken(kept, tmp_path):
    path = tmp_path / "checkpoint"
    bare = search("gated_mlp")
    wanted = answers(bare, list(bare.run()))
    for text in (kept, kept.replace('"version": 2', '"version": 1'), "", "not a checkpoint\n", "{}\n\n"):
        path.write_text(text)
        checkpoint = Checkpoint(path)
        fresh = search("gated_mlp", checkpoint=checkpoint)
        assert answers(fresh, list(fresh.run())) == wanted
        assert checkpoint.taken == 0


def test_what_is_opened_has_nothing_of_the_search_before(tmp_path):
    for checkpoint in (Checkpoint(), Checkpoint(tmp_path / "checkpoint")):
        for name in ("gated_mlp", "rmsnorm_linear"):
            list(search(name, checkpoint=checkpoint).run())
            assert checkpoint.taken == 0


def test_other_bounds_are_another_search_but_time_and_memory_are_not():
    keys = {search("gated_mlp", bounds=b).key for b in (FEW, Bounds(keep=12, tilings=3, structures=2, seconds=600.0))}
    assert len(keys) == 2
    assert search("gated_mlp").key == search("gated_mlp", bounds=Bounds(keep=12, tilings=3, structures=3, memory=7)).key


def test_a_broken_line_is_searched_again(kept, tmp_path, whole):
    path = tmp_path / "checkpoint"
    header, first, *rest = kept.split("\n")
    path.write_text("\n".join([header, first[: len(first) // 2], *rest]))
    checkpoint = Checkpoint(path)
    again = search("norm_mlp", checkpoint=checkpoint)
    assert answers(again, list(again.run())) == whole["norm_mlp"]
    assert checkpoint.taken == whole["norm_mlp"][2][4] - 1


def test_a_part_reads_as_it_was_written():
    s = search("attention_block")
    next(x for x in s.run() if s._parts)  # the first answer comes before any part is whole
    for part in s._parts.values():
        assert decode(encode(part)) == part
    assert any(part.pieces for part in s._parts.values())
    assert decode(encode(part)[:-9]) is None and decode("") is None and decode("é") is None
