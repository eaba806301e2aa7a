// A function whose search is short; the scenario `learned` leaves its answer in the cache.
export const scaled = `import mirage
import torch
from jaxtyping import Float16


@mirage.optimize
def scaled(x: Float16[torch.Tensor, "16 64"]):
    return torch.relu(x * 5)
`;
