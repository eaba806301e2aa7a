"""Wrong pairs: eps, roots, logarithms' bases and published constants with too few digits, or another one's."""

from strangers.pair import Pair

GELU = "0.5 * x * (1 + torch.tanh({0} * (x + {1} * x * x * x)))"
FREQUENCY = "x * torch.cos(10000 ** (-torch.arange(64).float() / {0}))"
PAIRS = (
    Pair("eps_of_layer_norm", "x fp32 16x1000; g fp32 1000; b fp32 1000", "F.layer_norm(x, (1000,), g, b, 1e-5)", "F.layer_norm(x, (1000,), g, b, 1e-6)", "rows of small variance", "x = x * 1e-2"),
    Pair("eps_of_rms_norm", "x fp16 16x4096; g fp16 4096", "F.rms_norm(x, (4096,), g, 1e-5)", "F.rms_norm(x, (4096,), g, 1e-6)", "small rows", "x = x * 3e-3"),
    Pair("root_of_a_half", "x fp32 8x1000", "0.5 * x * (1 + torch.erf(x * 0.7071067811865476))", "0.5 * x * (1 + torch.erf(x * 0.7071))", "1e-5 of the argument"),
    Pair("gelu_by_tanh", "x fp32 8x1000", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "up to 5e-4"),
    Pair("root_of_two_over_pi", "x fp32 8x1000", GELU.format("0.7978845608028654", "0.044715"), GELU.format("0.7979", "0.044715"), "2e-5 of the argument"),
    Pair("cubic_of_gelu", "x fp32 8x1000", GELU.format("0.7978845608028654", "0.044715"), GELU.format("0.7978845608028654", "0.0447"), "3e-4 of the cube"),
    Pair("scale_of_80_dims", "q fp16 16x80; k fp16 32x80", "torch.softmax(q @ k.T / math.sqrt(80), -1)", "torch.softmax(q @ k.T * 0.11, -1)", "0.1118 against 0.11"),
    Pair("log2_of_e", "x fp32 8x1000", "torch.exp(x)", "torch.exp2(x * 1.4427)", "3e-6 of the exponent", "x = x * 5"),
    Pair("entropy_in_bits", "p fp32 8x64", "-(p * torch.log(p)).sum(-1)", "-(p * torch.log2(p)).sum(-1)", "bits for nats", "p = torch.softmax(p, -1)"),
    Pair("quick_gelu", "x fp32 8x1000", "x * torch.sigmoid(1.702 * x)", "x * torch.sigmoid(1.7 * x)", "a tenth of a percent"),
    Pair("soft_cap", "x fp32 8x1000", "50 * torch.tanh(x / 50)", "30 * torch.tanh(x / 30)", "the cap", "x = x * 20"),
    Pair("keep_rate", "x fp32 8x1000", "x / (1 - 0.1)", "x * 1.1", "1.111 against 1.1"),
    Pair("frequencies_of_rotary", "x fp32 8x64", FREQUENCY.format("64"), FREQUENCY.format("63"), "the last frequency"),
    Pair("moving_average", "x fp32 1000; y fp32 1000", "0.999 * x + 0.001 * y", "0.99 * x + 0.01 * y", "the decay"),
    Pair("lerp_complement", "x fp32 1000; y fp32 1000", "torch.lerp(x, y, 0.3)", "0.3 * x + 0.7 * y", "the weights change places"),
    Pair("grey_of_another_standard", "r fp32 64x64; g fp32 64x64; b fp32 64x64", "0.299 * r + 0.587 * g + 0.114 * b", "0.2989 * r + 0.587 * g + 0.114 * b", "1e-4 of red"),
    Pair("temperature", "x fp32 16x1000", "torch.softmax(x / 0.7, -1)", "torch.softmax(x * 1.43, -1)", "1.4286 against 1.43"),
    Pair("beta_of_softplus", "x fp32 8x1000", "x * torch.tanh(F.softplus(x))", "x * torch.tanh(F.softplus(x, 2.0))", "beta"),
    Pair("pi_of_five_digits", "x fp32 8x1000", "torch.sin(x * math.pi)", "torch.sin(x * 3.1416)", "2e-6 of the angle"),
    Pair("selu_rounded", "x fp32 8x1000", "1.0507009873554805 * torch.where(x > 0, x, 1.6732632423543772 * (torch.exp(x) - 1))",
         "1.0507 * torch.where(x > 0, x, 1.67326 * (torch.exp(x) - 1))", "1e-6 above zero, 2e-6 below"),
    Pair("a_third", "x fp32 8x999", "x / 3", "x * 0.3333", "1e-4"),
    Pair("scale_of_all_heads", "q fp16 4x16x64; k fp16 4x16x64", "q @ k.mT * 64 ** -0.5", "q @ k.mT * 256 ** -0.5", "the whole width in a head's place"),
    Pair("celsius", "x fp32 1000", "(x - 32) * (5 / 9)", "(x - 32) * 0.5556", "8e-5"),
)
