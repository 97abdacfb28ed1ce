"""Networks that anybody's function makes: found by name, traced, and built for a run.

A function gets `classes`, and `resolution` where it takes that, and returns a module that makes
logits (n, classes) of images (n, 3, resolution, resolution). What is executed is its author's code.
"""

import difflib
import hashlib
import importlib
import inspect
import json
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anynet_study.core.errors import UserError, first_line
from anynet_study.core.functions import open_function
from anynet_study.design_space import (
    IMAGE_CHANNELS,
    Architecture,
    ForeignNetwork,
    Traced,
)
from anynet_study.engine.models.anynet import build

#: What messages call the place where a network is named.
WHERE = "network"
Factory = Callable[..., Any]


class ChangedNetworkError(UserError):
    """The function of this name makes another network than the one that was planned."""


def construct(
    architecture: Architecture | ForeignNetwork, classes: int, resolution: int, seed: int
) -> nn.Module:
    """The module of a network, on the CPU: images (n, 3, side, side) to logits (n, classes).

    Its weights follow from the seed alone. UserError where a function makes no such module, and
    ChangedNetworkError where it makes another network than the one that was traced.
    """
    if isinstance(architecture, Architecture):
        return build(architecture, classes, torch.Generator().manual_seed(seed))
    now = trace_network(architecture.name, architecture.resolution, architecture.classes)
    if now != architecture:
        parts = {"tensors": "parameters or buffers", "operators": "operators"}
        other = [parts[key] for key in parts if getattr(now, key) != getattr(architecture, key)]
        raise ChangedNetworkError(
            f"network {architecture.name}: built here it has other {' and '.join(other)} than the "
            f"one that was planned (torch {torch.__version__}); what makes it has changed"
        )
    return _module(architecture.name, classes, resolution, seed)


def head_name(network: nn.Module) -> str:
    """The name of the head, which is the last linear layer; "" where there is none."""
    linear = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    return linear[-1] if linear else ""


@cache
def trace_network(name: str, resolution: int, classes: int) -> ForeignNetwork:
    """Build the network of that name, and find out what it is and what it costs.

    UserError where there is none of this name, or its function makes no network of this kind.
    """
    network = _module(name, classes, resolution, seed=0)
    tensors = [
        (kind, key, list(value.shape), str(value.dtype))
        for kind, found in (("p", network.named_parameters()), ("b", network.named_buffers()))
        for key, value in found
    ]
    image = torch.zeros(1, IMAGE_CHANNELS, resolution, resolution)
    with _seeded(0), _plain_attention(), warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch.jit is deprecated, and fvcore traces with it
        try:
            operators, kept = _operators(network.eval(), image)
            counts, uncounted = _counted(network, image)
        except Exception as error:  # anybody's module
            raise UserError(f"network {name}: it cannot be traced ({first_line(error)})") from None
    head = head_name(network)
    layer = network.get_submodule(head) if head else None
    fits = isinstance(layer, nn.Linear) and layer.out_features == classes
    return ForeignNetwork(
        name=name,
        resolution=resolution,
        classes=classes,
        tensors=_hash(tensors),
        operators=_hash(operators),
        costs=Traced(
            pointwise=counts["pointwise"],
            spatial=counts["spatial"],
            activations=counts["pointwise outputs"] + counts["spatial outputs"],
            spatial_outputs=counts["spatial outputs"],
            layers=counts["layers"],
            parameters=sum(p.numel() for p in network.parameters()),
            kept=kept,
            head_width=layer.in_features if isinstance(layer, nn.Linear) and fits else 0,
        ),
        head=head if fits else "",
        uncounted=uncounted,
    )


def _module(name: str, classes: int, resolution: int, seed: int) -> nn.Module:
    """Return what the function of that name makes, checked."""
    factory = _factory(name)
    given = {"classes": classes, "resolution": resolution}
    takes = inspect.signature(factory).parameters
    if not any(it.kind is it.VAR_KEYWORD for it in takes.values()):
        given = {key: value for key, value in given.items() if key in takes}
    if "classes" not in given:
        raise UserError(f"network {name}: the function takes no argument `classes`")
    with _seeded(seed):
        network = factory(**given)
    if not isinstance(network, nn.Module):
        raise UserError(f"network {name}: a {type(network).__name__}, not a torch.nn.Module")
    if not any(True for _ in network.parameters()):
        raise UserError(f"network {name}: it has no parameters to train")
    network.to("cpu", torch.float32)
    images = torch.zeros(2, IMAGE_CHANNELS, resolution, resolution)
    with _seeded(seed), torch.no_grad():
        for training in (True, False):
            _check_logits(name, network, images, training, classes)
    return network.train()


def _check_logits(
    name: str, network: nn.Module, images: Tensor, training: bool, classes: int
) -> None:
    """Refuse a module that does not make logits of images; its buffers are as before."""
    before = {key: value.clone() for key, value in network.named_buffers()}
    at = f"images of {images.shape[2]} px"
    try:
        logits = network.train(training)(images)
    except Exception as error:  # anybody's module
        raise UserError(f"network {name}: it fails on {at} ({first_line(error)})") from None
    for key, value in network.named_buffers():
        value.copy_(before[key])
    shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    if shape != (len(images), classes):
        mode = "in training" if training else "in evaluation"
        raise UserError(
            f"network {name}: of {len(images)} {at} it makes {shape} {mode}; needed are logits, "
            f"({len(images)}, {classes})"
        )


def _factory(name: str) -> Factory:
    package, _, model = name.partition(":")
    if package not in LIBRARIES:
        return open_function(name, WHERE)
    try:
        library = importlib.import_module(package)
    except Exception as error:  # one for another torch fails in its own way
        missing = isinstance(error, ModuleNotFoundError) and error.name == package
        why = "is not installed" if missing else f"cannot be imported ({first_line(error)})"
        raise UserError(
            f"network {name}: {package} {why}; install one that goes with this torch "
            f'(pip install "anynet-study[{package}]"), or name a function of your own, '
            "module:function"
        ) from None
    there, make = LIBRARIES[package](library)
    if model not in there:
        near = difflib.get_close_matches(model, there, 8) or sorted(there)[:8]
        raise UserError(
            f"network {name}: {package} has no such model; legal are its {len(there):,}, such as "
            f"{', '.join(near)}"
        )
    return partial(_of_library, name, partial(make, model))


def _of_library(name: str, make: Factory, classes: int, resolution: int) -> Any:
    """A library's model; some take the side of images, under the library's name of it."""
    sized = {"timm": "img_size", "torchvision": "image_size"}[name.partition(":")[0]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the library, about weights
            try:
                return make(num_classes=classes, **{sized: resolution})
            except TypeError:
                return make(num_classes=classes)
    except Exception as error:  # the library's
        raise UserError(f"network {name}: {first_line(error)}") from None


def _timm(library: Any) -> tuple[Sequence[str], Factory]:
    return library.list_models(), partial(library.create_model, pretrained=False)


def _torchvision(library: Any) -> tuple[Sequence[str], Factory]:
    models = importlib.import_module(f"{library.__name__}.models")
    return models.list_models(module=models), partial(models.get_model, weights=None)


#: Libraries whose models have names: what makes of the library its names, and what builds one.
LIBRARIES: dict[str, Callable[[Any], tuple[Sequence[str], Factory]]] = {
    "timm": _timm,
    "torchvision": _torchvision,
}


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """All the usual sources of randomness begin at the seed, and go on afterwards as before."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


@contextmanager
def _plain_attention() -> Iterator[None]:
    """Attention is computed by operators that are counted, as it is in training."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _hash(found: object) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


#: Operators that make other views of a tensor, or tensors of one number.
VIEWS = {
    *("view", "reshape", "flatten", "permute", "transpose", "t", "select", "slice", "size"),
    *("unsqueeze", "squeeze", "expand", "expand_as", "chunk", "split", "unbind", "detach"),
    *("dropout", "feature_dropout", "alpha_dropout", "contiguous", "Int", "NumToTensor"),
    *("unflatten", "movedim", "view_as", "reshape_as", "narrow", "lift_fresh"),
}
#: A convolution's flags of the machine (benchmark, deterministic, cudnn, TF32) are its last ones.
MACHINE_FLAGS = {"_convolution": 4}


def _operators(network: nn.Module, image: Tensor) -> tuple[list[Any], int]:
    """The operators of a forward pass with their arguments and the shapes of their outputs.

    And the elements of what they put out, views and changes in place left out.
    """
    graph = torch.jit.trace(network, image, check_trace=False).inlined_graph
    found: list[Any] = []
    kept = 0
    for node in graph.nodes():
        kind = node.kind().partition("::")[2]
        if node.kind().startswith("prim::"):
            continue
        shapes = [_shape(value) for value in node.outputs()]
        inputs = list(node.inputs())
        inputs = inputs[: len(inputs) - MACHINE_FLAGS.get(kind, 0)]
        found.append((kind, [_constant(value) for value in inputs], shapes))
        if kind not in VIEWS and not kind.endswith("_"):
            kept += sum(prod(shape) for shape in shapes if shape is not None)
    return found, kept


def _shape(value: Any) -> list[int] | None:
    """Return the shape of a tensor; None for other values."""
    sizes = value.type().sizes() if value.type().kind() == "TensorType" else None
    return None if sizes is None else list(sizes)


def _constant(value: Any) -> Any:
    """A number, text, or list of numbers that an operator is given; else where it comes from."""
    node = value.node()
    if node.kind() == "prim::ListConstruct":
        return [_constant(one) for one in node.inputs()]
    if node.kind() != "prim::Constant":
        return "?"
    constant = value.toIValue()
    return list(constant.shape) if isinstance(constant, Tensor) else repr(constant)


#: Operators that are no products: they are free by the field's way of counting FLOPs.
FREE = {
    *("add", "sub", "rsub", "mul", "div", "neg", "pow", "sqrt", "rsqrt", "exp", "log", "abs"),
    *("sum", "mean", "var", "std", "max", "min", "amax", "amin", "clamp", "clamp_min", "minimum"),
    *("relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "leaky_relu", "prelu"),
    *("hardtanh", "hardswish", "hardsigmoid", "sigmoid", "log_sigmoid", "tanh", "softplus"),
    *("softmax", "log_softmax", "batch_norm", "layer_norm", "group_norm", "instance_norm"),
    *("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "pad", "roll"),
    *("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "constant_pad_nd"),
    *("cat", "stack", "copy", "clone", "to", "type_as", "zeros", "ones", "full", "arange"),
    *("linalg_vector_norm", "norm", "where", "index", "gather", "repeat", "flip", "threshold"),
    *("zeros_like", "ones_like", "empty", "fill", "pixel_shuffle", "channel_shuffle"),
}


def _counted(network: nn.Module, image: Tensor) -> tuple[Counter[str], dict[str, int]]:
    """Return what fvcore traces: multiply-adds and outputs, `pointwise` and `spatial`, and layers.

    And what else there is that may multiply and add, by its operator.
    """
    from fvcore.nn import jit_handles
    from fvcore.nn.jit_analysis import JitModelAnalysis

    analysis = JitModelAnalysis(network, image)
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    analysis.tracer_warnings("none")
    analysis.set_op_handle(
        **{f"aten::{name}{end}": None for name in FREE | VIEWS for end in ("", "_")}
    )
    products = {
        "_convolution": jit_handles.conv_flop_jit,
        "linear": jit_handles.linear_flop_jit,
        "addmm": jit_handles.addmm_flop_jit,
        "bmm": jit_handles.bmm_flop_jit,
        "matmul": jit_handles.matmul_flop_jit,
        "mm": jit_handles.matmul_flop_jit,
        "einsum": jit_handles.einsum_flop_jit,
        "scaled_dot_product_attention": _attention,
    }
    for name, count in products.items():
        analysis.set_op_handle(f"aten::{name}", partial(_product, name, count))
    found = analysis.by_operator()
    missed = {name.partition("::")[2]: n for name, n in analysis.unsupported_ops().items()}
    return found, missed


def _product(name: str, count: Callable[..., Any], inputs: Any, outputs: Any) -> Counter[str]:
    """Return what one operator adds: `count` is fvcore's, of its multiply-adds."""
    found = count(inputs, outputs)
    flops = sum(found.values()) if isinstance(found, Counter) else found
    kernel = (_shape(inputs[1]) or [])[2:] if name == "_convolution" else []
    kind = "spatial" if prod(kernel) > 1 else "pointwise"
    elements = sum(prod(_shape(value) or [0]) for value in outputs)
    return Counter({kind: int(flops), f"{kind} outputs": elements, "layers": 1})


def _attention(inputs: Any, outputs: Any) -> int:
    """Multiply-adds of attention, which fvcore does not know: queries by keys, and by values."""
    queries, keys, values = (_shape(value) or [0] for value in inputs[:3])
    return prod(queries[:-1]) * keys[-2] * (queries[-1] + values[-1])
