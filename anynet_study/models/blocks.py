"""The blocks that stages are made of: bottleneck, basic and vanilla; see `Architecture`."""

from torch import Tensor, nn


class Bottleneck(nn.Module):
    """A residual bottleneck block: relu(shortcut(x) + f(x)).

    f is a 1x1 convolution to the bottleneck width, a 3x3 in groups (with the stride), and a 1x1
    to the block's width. With `w_excitation` channels, squeeze-and-excitation follows the 3x3.
    """

    def __init__(
        self,
        w_in: int,
        w_out: int,
        stride: int,
        w_bottleneck: int,
        groups: int,
        w_excitation: int = 0,
    ) -> None:
        super().__init__()
        self.squeeze = convolution(w_in, w_bottleneck, kernel=1)
        self.spatial = convolution(w_bottleneck, w_bottleneck, 3, stride, groups)
        self.excitation = (
            SqueezeExcitation(w_bottleneck, w_excitation) if w_excitation else nn.Identity()
        )
        self.expand = convolution(w_bottleneck, w_out, kernel=1)
        self.shortcut = _shortcut(w_in, w_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.excitation(self.spatial(self.squeeze(x).relu_()).relu_())
        z: Tensor = self.expand(y) + self.shortcut(x)
        return z.relu_()


class Basic(nn.Module):
    """A residual basic block: relu(shortcut(x) + f(x)), f = two 3x3 convolutions."""

    def __init__(self, w_in: int, w_out: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(w_in, w_out, 3, stride)
        self.second = convolution(w_out, w_out, 3)
        self.shortcut = _shortcut(w_in, w_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.second(self.first(x).relu_()) + self.shortcut(x)
        return z.relu_()


class Vanilla(nn.Module):
    """Two 3x3 convolutions without a shortcut."""

    def __init__(self, w_in: int, w_out: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(w_in, w_out, 3, stride)
        self.second = convolution(w_out, w_out, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x).relu_())
        return y.relu_()


class SqueezeExcitation(nn.Module):
    """Scales each channel by a number in (0, 1) that two layers make of all channels' means.

    Hu et al. 2018, "Squeeze-and-excitation networks", section 3; its convolutions have biases.
    """

    def __init__(self, width: int, w_inside: int) -> None:
        super().__init__()
        self.reduce = Convolution(width, w_inside, kernel_size=1)
        self.expand = Convolution(w_inside, width, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean(dim=(2, 3), keepdim=True)
        scale: Tensor = self.expand(self.reduce(means).relu_())
        return x * scale.sigmoid_()


class Convolution(nn.Conv2d):
    """With weights of any values until `models.build` draws them.

    Torch's own initialisation would be thrown away, takes most of the time of building a network,
    and draws from the global generator.
    """

    def reset_parameters(self) -> None:
        """Do nothing."""


def convolution(
    w_in: int, w_out: int, kernel: int, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    """Return a convolution that keeps the map's size (over stride), and its batch norm."""
    padding = kernel // 2
    layer = Convolution(w_in, w_out, kernel, stride, padding, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(w_out))


def _shortcut(w_in: int, w_out: int, stride: int) -> nn.Module:
    """The identity where the shape stays the same; otherwise a strided 1x1 convolution."""
    same_shape = stride == 1 and w_in == w_out
    return nn.Identity() if same_shape else convolution(w_in, w_out, 1, stride)
