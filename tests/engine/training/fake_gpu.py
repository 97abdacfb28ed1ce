"""A GPU that is none: its tensors have shapes, types and strides, but no numbers.

They say that they are on `GPU`; to torch they are on its device `meta`. What is on the host stays
real. While a graph is being recorded, all that would break a recording is refused: reading a
number on the host, anything made on the host or of what is there, and what is drawn at random.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

GPU = torch.device("cuda", 0)
META = torch.device("meta")
#: What a graph cannot hold; and what a step does not do: all that is random is drawn before.
REFUSED = (
    torch.Tag.data_dependent_output,
    torch.Tag.dynamic_output_shape,
    torch.Tag.cudagraph_unsafe,
    torch.Tag.nondeterministic_seeded,
)
#: Operators that no device without numbers has.
FUSED = ("aten::_fused_sgd_", "aten::_fused_adamw_")
#: What copies from the host in one go.
FROM_HOST = (torch.tensor, torch.as_tensor, torch.from_numpy)
WHERE = torch.Tensor.device.__get__  # type: ignore[attr-defined]


class RecordingError(Exception):
    """This would break the recording of a CUDA graph."""


class FakeGpu(TorchFunctionMode):
    """In this context there is a device `GPU`. What is copied from it to the host is zeros."""

    def __init__(self) -> None:
        super().__init__()
        self._operators = Operators()
        self._contexts = ExitStack()
        #: What was recorded, in order.
        self.recordings: list[Recorded] = []

    def __enter__(self) -> "FakeGpu":
        self._contexts.enter_context(self._operators)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._contexts.close()

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if self._operators.recorded is not None and func in FROM_HOST:
            raise RecordingError(f"{func.__name__}: made on the host")
        there = [META if is_gpu(value) else value for value in args]
        named = {name: META if is_gpu(value) else value for name, value in (kwargs or {}).items()}
        result = func(*there, **named)
        return GPU if func == WHERE and result == META else result

    def record(self, body: Callable[[], None], pool: object = None) -> "Recorded":
        """Run `body` as if it was recorded; what `training.graphs.cuda_graph` is."""
        self._operators.recorded = recorded = Recorded()
        try:
            body()
        finally:
            self._operators.recorded = None
        assert recorded.operators, "nothing was recorded"
        self.recordings.append(recorded)
        return recorded


class Recorded:
    """A recording that does nothing when it is played."""

    def __init__(self) -> None:
        self.operators: list[str] = []

    def pool(self) -> None:
        """It has no memory."""

    def replay(self) -> None:
        """Do nothing: there are no numbers to change."""


class Operators(TorchDispatchMode):
    """Sees each operator, of the passes back as well."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: Recorded | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs, name = kwargs or {}, func.name()
        given = tensors((args, kwargs))
        if self.recorded is not None:
            self.recorded.operators.append(name)
            for tag in REFUSED:
                if tag in func.tags:
                    raise RecordingError(f"{name}: {tag}")
        if name.partition(".")[0] in FUSED:
            return fused(func, args, kwargs)
        to_host = kwargs.get("device") == torch.device("cpu") and all(map(on_gpu, given))
        if given and to_host and self.recorded is None:
            return torch.zeros(given[0].shape, dtype=kwargs.get("dtype") or given[0].dtype)
        if func is torch.ops.aten._local_scalar_dense.default and on_gpu(given[0]):
            return 0
        if self.recorded is None:
            return as_cudnn(name, args, func(*args, **kwargs))
        if to_host or not all(map(on_gpu, given)):
            raise RecordingError(f"{name}: between the host and the GPU")
        result = as_cudnn(name, args, func(*args, **kwargs))
        if not all(map(on_gpu, tensors(result))):
            raise RecordingError(f"{name}: made on the host")
        return result


def as_cudnn(name: str, args: Sequence[Any], result: Any) -> Any:
    """The result of a convolution in the order in memory that its input has, as cuDNN gives it."""
    if name == "aten::convolution":
        return in_order_of(args[0], result)
    if name == "aten::convolution_backward":
        to_maps, to_weight, *others = result
        return (in_order_of(args[1], to_maps), in_order_of(args[2], to_weight), *others)
    return result


def in_order_of(given: Tensor, result: Tensor | None) -> Tensor | None:
    last = given.is_contiguous(memory_format=torch.channels_last) and not given.is_contiguous()
    order = torch.channels_last if last else torch.contiguous_format
    return result if result is None else result.contiguous(memory_format=order)


def fused(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Check what the kernel on a GPU checks, and that its learning rate is there, too."""
    names = [argument.name for argument in func._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    assert isinstance(given["lr"], Tensor), f"{func.name()}: the learning rate is the host's"
    assert all(map(on_gpu, tensors(given)))
    lists = {name: each for name, each in given.items() if isinstance(each, list) and each}
    assert len(set(map(len, lists.values()))) == 1
    assert all(count.dtype == torch.float32 for count in lists.pop("state_steps", []))
    for one in zip(*lists.values(), strict=True):
        assert len({(tensor.dtype, tensor.shape, strides(tensor)) for tensor in one}) == 1


def strides(tensor: Tensor) -> tuple[int, ...]:
    """Those that count."""
    sizes = zip(tensor.stride(), tensor.shape, strict=True)
    return tuple(stride for stride, size in sizes if size > 1)


def tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def on_gpu(tensor: Tensor) -> bool:
    return tensor.is_meta


def is_gpu(value: object) -> bool:
    return isinstance(value, torch.device) and value.type == GPU.type
