"""The numbers that reference networks were published with: data, nothing else."""

#: Blocks in all, w0, wa, wm and group width of RegNetX and RegNetY by their FLOPs (Radosavovic et
#: al. 2020, "Designing network design spaces", with the decimals of pycls's configurations).
#: Bottleneck ratio 1, simple stem of width 32, stride 2 in every stage; SE ratio 1/4 in RegNetY.
REGNETX = {
    "200mf": (13, 24, 36.44, 2.49, 8),
    "400mf": (22, 24, 24.48, 2.54, 16),
    "600mf": (16, 48, 36.97, 2.24, 24),
    "800mf": (16, 56, 35.73, 2.28, 16),
    "1.6gf": (18, 80, 34.01, 2.25, 24),
    "3.2gf": (25, 88, 26.31, 2.25, 48),
    "4.0gf": (23, 96, 38.65, 2.43, 40),
    "6.4gf": (17, 184, 60.83, 2.07, 56),
    "8.0gf": (23, 80, 49.56, 2.88, 120),
    "12gf": (19, 168, 73.36, 2.37, 112),
    "16gf": (22, 216, 55.59, 2.1, 128),
    "32gf": (23, 320, 69.86, 2.0, 168),
}
REGNETY = {
    "200mf": (13, 24, 36.44, 2.49, 8),
    "400mf": (16, 48, 27.89, 2.09, 8),
    "600mf": (15, 48, 32.54, 2.32, 16),
    "800mf": (14, 56, 38.84, 2.4, 16),
    "1.6gf": (27, 48, 20.71, 2.65, 24),
    "3.2gf": (21, 80, 42.63, 2.66, 24),
    "4.0gf": (22, 96, 31.41, 2.24, 64),
    "6.4gf": (25, 112, 33.22, 2.27, 72),
    "8.0gf": (17, 192, 76.82, 2.19, 56),
    "12gf": (19, 168, 73.36, 2.37, 112),
    "16gf": (18, 200, 106.23, 2.48, 112),
    "32gf": (20, 232, 115.89, 2.53, 232),
}
#: The end of a RegNet's name in timm: its FLOPs in units of 10^8.
TIMM_REGNETS = {
    "002": "200mf",
    "004": "400mf",
    "006": "600mf",
    "008": "800mf",
    "016": "1.6gf",
    "032": "3.2gf",
    "040": "4.0gf",
    "064": "6.4gf",
    "080": "8.0gf",
    "120": "12gf",
    "160": "16gf",
    "320": "32gf",
}

#: Blocks of each stage by the number of layers (He et al. 2016, "Deep residual learning for image
#: recognition", Table 1).
TWO_LAYER_DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
THREE_LAYER_DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}

#: Layers, groups of the 3x3 and bottleneck width of the first stage. ResNeXt: Xie et al. 2017,
#: "Aggregated residual transformations"; wide: Zagoruyko and Komodakis 2016, "Wide residual
#: networks".
BOTTLENECK_RESNETS = {
    "resnet50": (50, 1, 64),
    "resnet101": (101, 1, 64),
    "resnet152": (152, 1, 64),
    "resnext50_32x4d": (50, 32, 128),
    "resnext101_32x4d": (101, 32, 128),
    "resnext152_32x4d": (152, 32, 128),
    "resnext101_32x8d": (101, 32, 256),
    "resnext101_64x4d": (101, 64, 256),
    "wide_resnet50_2": (50, 1, 128),
    "wide_resnet101_2": (101, 1, 128),
}

#: Blocks of each of the three stages for images of 32 pixels, by the number of layers, 6 n + 2
#: (He et al. 2016, section 4.2).
CIFAR_DEPTHS = {20: 3, 32: 5, 44: 7, 56: 9, 110: 18}
