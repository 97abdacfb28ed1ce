"""The semantics of a CUDA graph on a CPU: operators are recorded once and replayed.

A replay works at the addresses of the recording, as a graph does. Before each, everything that it
has to write itself is filled with what is no result, so what it reads without having written it
spoils the run; what the host decided at the recording stays as it was then. Races between streams
are not seen.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

#: Operators that only take memory.
TAKING_MEMORY = ("aten::empty", "aten::new_empty")
#: Written by operators that do not say so.
STATISTICS = ("running_mean", "running_var")


class Replay:
    """What `training.graphs.cuda_graph` gives."""

    def __init__(self, body: Callable[[], None], pool: object = None) -> None:
        """Record `body`, which leaves no trace: a graph is not run while it is recorded."""
        self._tape = Tape()
        with self._tape:
            body()
        with torch.no_grad():
            for tensor, value in reversed(self._tape.overwritten):
                tensor.copy_(value)

    def pool(self) -> None:
        """It has no memory of its own."""

    @torch.no_grad()
    def replay(self) -> None:
        for tensor in self._tape.made.values():
            poison(tensor)
        for function, args, kwargs, result in self._tape.operators:
            again = function(*args, **kwargs)
            for there, value in zip(tensors(result), tensors(again), strict=True):
                if storage(there) != storage(value):
                    there.detach().copy_(value)


class Tape(TorchDispatchMode):
    """Every operator but views, with the tensors themselves: no memory is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[tuple[Any, Sequence[Any], dict[str, Any], Any]] = []
        #: By the address of its memory, what was made since the beginning.
        self.made: dict[int, Tensor] = {}
        #: What was there before and was written to, and its value until then.
        self.overwritten: list[tuple[Tensor, Tensor]] = []
        self._views: list[Any] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        for tensor in written(func, args, kwargs):
            if storage(tensor) not in self.made:
                self.overwritten.append((tensor.detach(), tensor.detach().clone()))
        before = {storage(tensor) for tensor in tensors((args, kwargs))}
        result = func(*args, **kwargs)
        for tensor in tensors(result):
            if storage(tensor) not in before:
                self.made[storage(tensor)] = tensor.detach()
        aliases = any(it.alias_info is not None for it in func._schema.returns)
        if (aliases and not func._schema.is_mutable) or func.name().startswith(TAKING_MEMORY):
            self._views.append(result)
        else:
            self.operators.append((func, args, kwargs, result))
        return result


def poison(tensor: Tensor) -> None:
    """Fill with what no result is; with a legal place where it may be one."""
    if tensor.is_floating_point():
        tensor.fill_(float("nan"))
    elif tensor.dtype == torch.bool:
        tensor.logical_not_()
    else:
        tensor.zero_()


def written(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[Tensor]:
    """The tensors that an operator writes to."""
    arguments = function._schema.arguments
    given = {it.name: value for it, value in zip(arguments, args, strict=False)} | kwargs
    for argument in arguments:
        said = argument.alias_info is not None and argument.alias_info.is_write
        if said or argument.name in STATISTICS:
            yield from tensors(given.get(argument.name))


def tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
