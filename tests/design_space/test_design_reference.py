"""Reference networks against what others publish of them."""

import numpy as np
import pytest

from anynet_study.core.errors import UserError
from anynet_study.design_space import Architecture, Population, reference
from anynet_study.design_space.reference import (
    REFERENCE_NAMES,
    canonical,
    is_reference,
    published_at,
)
from anynet_study.design_space.regnet import linear_stages

#: FLOPs (of pycls: with an addition for each bias), parameters, activations, as pycls publishes
#: them (its file dev/complexity.json of 2020-05-14).
PYCLS = {
    "regnetx_200mf": (199040872, 2684792, 2164056),
    "regnetx_400mf": (397678568, 5157512, 3143272),
    "regnetx_600mf": (600891112, 6196040, 3975096),
    "regnetx_800mf": (799700712, 7259656, 5148744),
    "regnetx_1.6gf": (1602850792, 9190136, 7933512),
    "regnetx_3.2gf": (3176622952, 15296552, 11367432),
    "regnetx_4.0gf": (3964499816, 22118248, 12201608),
    "regnetx_6.4gf": (6460292264, 26209256, 16369744),
    "regnetx_8.0gf": (7995133416, 39572648, 14059688),
    "regnetx_12gf": (12086679016, 46106056, 21366568),
    "regnetx_16gf": (15940756456, 54278536, 25515496),
    "regnetx_32gf": (31735930792, 107811560, 36302160),
    "regnety_200mf": (199519076, 3162996, 2168052),
    "regnety_400mf": (401849056, 4344144, 3892496),
    "regnety_600mf": (601227608, 6055160, 4334296),
    "regnety_800mf": (797183328, 6263168, 5249888),
    "regnety_1.6gf": (1612087326, 11202430, 8044814),
    "regnety_3.2gf": (3176496162, 19436338, 11263418),
    "regnety_4.0gf": (3973301344, 20646656, 12287200),
    "regnety_6.4gf": (6355221876, 30583252, 16407188),
    "regnety_8.0gf": (7963074196, 39180068, 17968916),
    "regnety_12gf": (12092395504, 51822544, 21384496),
    "regnety_16gf": (15911534044, 83590140, 23041228),
    "regnety_32gf": (32279583362, 145046770, 30261570),
    "resnet50": (4089185256, 25557032, 11114984),
    "resnet101": (7801406440, 44549160, 16232936),
    "resnet152": (11513627624, 60192808, 22555112),
    "resnext50_32x4d": (4230480872, 25028904, 14401512),
    "resnext101_32x4d": (7969997800, 44177704, 21225448),
    "resnext152_32x4d": (11709514728, 59951400, 29655016),
    "resnet56": (125747850, 855770, 544778),
    "resnet110": (253149834, 1730714, 1060874),
    "plain56": (125485706, 853018, 532490),
}
#: Multiply-adds (10^9) and parameters, as torchvision publishes them with its weights; activations
#: (10^6), as timm does in its inference benchmark of 2022.
TORCHVISION = {
    "resnet18": (1.814, 11689512, 2.48),
    "resnet34": (3.664, 21797672, 3.74),
    "resnet50": (4.089, 25557032, 11.11),
    "resnet101": (7.801, 44549160, 16.23),
    "resnet152": (11.514, 60192808, 22.56),
    "resnext50_32x4d": (4.23, 25028904, 14.4),
    "resnext101_32x8d": (16.414, 88791336, 31.21),
    "resnext101_64x4d": (15.46, 83455272, 31.21),
    "wide_resnet50_2": (11.398, 68883240, 14.4),
    "wide_resnet101_2": (22.753, 126886696, 21.23),
}
#: Parameters (10^6, He et al. 2016, Table 6, whose shortcuts have none) and multiply-adds (10^6,
#: of chenyaofo's pytorch-cifar-models, whose shortcuts are convolutions).
CIFAR_RESNETS = {20: (0.27, 40.81), 32: (0.46, 69.12), 44: (0.66, 97.44), 56: (0.85, 125.75)}


def biases(a: Architecture, classes: int) -> int:
    """Biases of the head, and of both convolutions of every squeeze-and-excitation."""
    count = classes
    before = a.stem_width
    for depth, width, inside in zip(a.depths, a.widths, a.bottleneck_widths, strict=True):
        if a.se_ratio:
            count += depth * inside + round(before / 4) + (depth - 1) * round(width / 4)
        before = width
    return count


@pytest.mark.parametrize("name", PYCLS)
def test_equal_to_what_pycls_publishes(name: str) -> None:
    a, (side, classes) = reference(name), published_at(name)
    costs = a.flops(side, classes), a.parameters(classes), a.activations(side, classes)
    flops, *others = PYCLS[name]
    assert costs == (flops - biases(a, classes), *others)


@pytest.mark.parametrize("name", TORCHVISION)
def test_equal_to_what_torchvision_and_timm_publish(name: str) -> None:
    a = reference(name)
    gigaflops, parameters, activations = TORCHVISION[name]
    assert a.parameters() == parameters
    assert round(a.flops() / 1e9, 3) == gigaflops
    assert a.activations() / 1e6 == pytest.approx(activations, abs=0.0051)


@pytest.mark.parametrize("layers", CIFAR_RESNETS)
def test_networks_for_cifar(layers: int) -> None:
    parameters, megaflops = CIFAR_RESNETS[layers]
    plain, residual = reference(f"plain{layers}"), reference(f"resnet{layers}")
    assert plain.parameters(10) / 1e6 == pytest.approx(parameters, abs=0.0051)
    assert round(residual.flops(32, 10) / 1e6, 2) == megaflops
    projections = 16 * 32 + 32 * 64
    assert residual.parameters(10) - plain.parameters(10) == projections + 2 * (32 + 64)


def test_plain_networks_have_the_flops_of_the_paper() -> None:
    # He et al. 2016, Figure 3 and Table 1.
    assert f"{reference('plain34').flops():.1e}" == "3.6e+09"
    assert f"{reference('plain18').flops():.1e}" == "1.8e+09"


def stages_of(d: int, w0: int, wa: float, wm: float, stages: int) -> tuple[list[int], list[int]]:
    numbers = (np.array([float(number)]) for number in (d, w0, wa, wm))
    depths, widths, legal = linear_stages(*numbers, stages)
    return (depths[:, 0].tolist(), widths[:, 0].tolist()) if legal[0] else ([], [])


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("RegNetX-1.6GF", "regnetx_1.6gf"),
        ("regnetx_016", "regnetx_1.6gf"),
        ("regnety_120", "regnety_12gf"),
        ("regnety_8gf", "regnety_8.0gf"),
        ("ResNeXt-101 64x4d", "resnext101_64x4d"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert is_reference(spelling)
    assert canonical(spelling) == name
    assert reference(spelling) == reference(name)


def test_names_are_themselves() -> None:
    assert [canonical(name) for name in REFERENCE_NAMES] == list(REFERENCE_NAMES)
    assert len({reference(name).id for name in REFERENCE_NAMES}) == len(REFERENCE_NAMES)


@pytest.mark.parametrize("name", ["resnet51", "regnetx_999", "regnetx_2.0gf", "", "resnet50.yaml"])
def test_an_unknown_name_is_refused_with_the_legal_ones(name: str) -> None:
    assert not is_reference(name)
    with pytest.raises(UserError, match=r"reference network: .* is unknown.*; legal: .*, resnet50"):
        reference(name)


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(UserError, match=r"did you mean 'regnety_800mf'\?"):
        reference("regnety_800m")


def test_all_together_are_a_population() -> None:
    population = Population.from_architectures([reference(name) for name in REFERENCE_NAMES])
    assert list(population) == [reference(name) for name in REFERENCE_NAMES]
    assert population.table["flops"].to_pylist()[0] == reference(REFERENCE_NAMES[0]).flops()
