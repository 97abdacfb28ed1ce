"""Foreign networks (made by any function) as populations keep them: name, fingerprint, costs.

Nothing here builds them: `anynet_study.engine.models` does, and compares them with this record.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any

from anynet_study.core.errors import UserError
from anynet_study.design_space.architecture import checked
from anynet_study.design_space.memory import FLOAT_BYTES
from anynet_study.design_space.validation import whole_number

#: Weights, their gradients and their momentum.
COPIES = 3
#: What no network costs.
MOST = 10**18


@dataclass(frozen=True, slots=True)
class Traced:
    """Costs of one image in a network: counts of convolutions, linear layers, other products.

    Multiply-adds are `pointwise` (1x1 convolutions, linear layers, products of matrices) and
    `spatial` (other convolutions).
    """

    pointwise: int
    spatial: int
    #: Output elements of all of them, and of those that are spatial.
    activations: int
    spatial_outputs: int
    #: How many there are.
    layers: int
    #: Trainable parameters.
    parameters: int
    #: Output elements of all operators except views: an upper limit of what training keeps for the
    #: backward pass.
    kept: int
    #: Input features of the head; 0: there is no head (`ForeignNetwork.head`).
    head_width: int

    @property
    def flops(self) -> int:
        """Multiply-adds."""
        return self.pointwise + self.spatial


@dataclass(frozen=True, slots=True)
class ForeignNetwork:
    """A network that is not an `Architecture`: it has no stages, and any function made its module.

    It was built and traced for one image side and number of classes. For others, costs are
    estimates: maps grow with the number of pixels, the head with the number of classes.
    """

    #: `module:function`, `timm:model` or `torchvision:model`.
    name: str
    #: Image side and number of classes at which it was traced.
    resolution: int
    classes: int
    #: Hashes of its parameters and buffers (names, shapes, kinds of numbers) and of its operators
    #: (with their arguments and the shapes of what they put out).
    tensors: str
    operators: str
    costs: Traced = field(compare=False)
    #: Name of the last linear layer, which must put out the classes; "" where there is none.
    head: str = field(default="", compare=False)
    #: Operators that may multiply and add, but are not counted, and how many times they are there.
    uncounted: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        """16 hexadecimal digits: a hash of the name and of all that was found in the network."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """The fields that identify it, JSON-able; its costs follow from them."""
        names = ("resolution", "classes", "tensors", "operators")
        return {"network": self.name, **{name: getattr(self, name) for name in names}}

    def to_record(self) -> dict[str, Any]:
        """All of it, JSON-able: the inverse of `from_record`."""
        return {**asdict(self), "uncounted": dict(self.uncounted)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "ForeignNetwork":
        """Build it from a population's record. UserError if that is not a legal record."""
        try:
            one = cls(**{**record, "costs": Traced(**record["costs"])})
            counts = [*astuple(one.costs), *one.uncounted.values()]
        except (TypeError, LookupError, AttributeError):
            raise UserError("not the record of a network") from None
        checked(one.resolution, one.classes)
        for count in counts:
            whole_number(count, "a cost of a network", 0, MOST)
        if not all(isinstance(it, str) for it in (one.name, one.head, *one.uncounted)):
            raise UserError("a name of a network is no text")
        return one

    def costs_at(self, resolution: int, classes: int) -> Traced:
        """Return what one image costs at another image side and number of classes, estimated."""
        costs = self.costs
        area, more = (resolution / self.resolution) ** 2, classes - self.classes
        head = costs.head_width
        in_head = head * self.classes
        return replace(
            costs,
            pointwise=round((costs.pointwise - in_head) * area) + head * classes,
            spatial=round(costs.spatial * area),
            activations=max(classes, round(costs.activations * area)),
            spatial_outputs=round(costs.spatial_outputs * area),
            parameters=costs.parameters + more * (head + 1 if head else 0),
            kept=round(costs.kept * area),
        )

    def training_memory(self, batch: int = 128, resolution: int = 224, classes: int = 1000) -> int:
        """Bytes that a training step on `batch` images takes in float32, at most."""
        costs = self.costs_at(resolution, classes)
        return FLOAT_BYTES * (COPIES * costs.parameters + batch * (costs.kept + 3 * resolution**2))
