"""Decorated methods and modules: compiled where no gradient is needed, and modules of PyTorch in every other way."""

import copy
import functools
import pickle

import pytest
import torch
from torch import nn

import mirage
from mirage.dynamo.backend import backend
from mirage.runtime import module_calls


@pytest.fixture(autouse=True)
def by_operators(monkeypatch):
    monkeypatch.setattr(module_calls, "BACKEND", functools.partial(backend, options={"rest": "eager"}))


@mirage.optimize
class Gate(nn.Module):
    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return torch.sigmoid(self.linear(x)) * x


class Plain:
    def __init__(self, scale: torch.Tensor) -> None:
        self.scale = scale

    @mirage.optimize
    def run(self, x):
        """Words."""
        return torch.relu(x) * self.scale + 1


def expected(gate, x):
    return torch.sigmoid(gate.linear(x)) * x


def zeros(function):
    return lambda *inputs: torch.zeros_like(function(*inputs))


X = torch.ones(2, 6)


def kernels(take, *calls):
    """Run the calls, and give all their regions a kernel that answers with zeros."""
    with torch.no_grad():
        for call in calls:
            call()
    return take(zeros)


def test_a_class_runs_its_kernels_and_counts_in_its_buffer(take):
    gate = Gate()
    with torch.no_grad():
        torch.testing.assert_close(gate(X), expected(gate, X))
        assert gate.calls == 1
        kernels(take)
        assert not gate(X).any() and gate.calls == 2
        assert gate(X[:1]).any() and gate.calls == 3


def test_a_gradient_runs_as_written(take):
    gate = Gate()
    kernels(take, lambda: gate(X))
    made = gate(X)
    assert made.any() and made.requires_grad
    made.sum().backward()
    assert gate.linear.weight.grad.any()
    for p in gate.parameters():
        p.requires_grad_(False)
    assert not gate(X).any() and gate(X.clone().requires_grad_()).any()


def test_it_stays_a_module_of_pytorch(take):
    gate = Gate()
    kernels(take, lambda: gate(X))
    other = pickle.loads(pickle.dumps(gate))
    third = copy.deepcopy(gate)
    fourth = Gate()
    fourth.load_state_dict(gate.state_dict())
    assert set(gate.state_dict()) == {"linear.weight", "linear.bias", "calls"}
    with torch.no_grad():
        for module in (gate, other, third, fourth):
            assert type(module) is Gate and not module(X).any()
        gate.to(torch.float64)
        torch.testing.assert_close(gate(X.double()), expected(gate, X.double()))
        other.eval()
        torch.testing.assert_close(gate.train()(X.double()), expected(gate, X.double()))
        seen = []
        third.register_forward_hook(lambda module, args, made: seen.append(1) or made + 5)
        assert bool((third(X) == 5).all()) and seen == [1]


def test_a_module_by_itself_and_a_shared_parameter(take):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 6)
            self.b.weight = self.a.weight

        def forward(self, x):
            return torch.relu(self.b(torch.relu(self.a(x)))) * 2

    written = Tied()
    model = copy.deepcopy(written)
    assert mirage.optimize(model) is model
    with torch.no_grad():
        torch.testing.assert_close(model(X), written(X))
        kernels(take)
        assert not model(X).any()
        assert written(X).any() and copy.deepcopy(model)(X).any()  # a copy runs as written
        model.b.weight = nn.Parameter(torch.ones(6, 6))  # tied no longer: other inputs, other guards
        written.b.weight = nn.Parameter(torch.ones(6, 6))
        torch.testing.assert_close(model(X), written(X))


def test_a_method_of_any_class(take):
    plain = Plain(torch.full((6,), 3.0))
    assert Plain.run.__doc__ == "Words." and bool((plain.run(X) == 4).all())
    kernels(take, lambda: plain.run(X))
    assert not plain.run(X).any()
    plain.scale = torch.full((6,), 5.0).requires_grad_()  # no argument: the backend sees it
    made = plain.run(X)
    made.sum().backward()
    assert not made.any() and bool((plain.scale.grad == 2).all())
    assert Plain(plain.scale).run(X.clone().requires_grad_()).any()  # an argument: as written
    with torch.autograd.forward_ad.dual_level():
        assert plain.run(X).any()
    assert torch.func.vmap(plain.run)(X).any()


def test_what_is_no_module_stays_as_it_is():
    class Other:
        pass

    assert mirage.optimize(Other) is Other and mirage.optimize(3) == 3
