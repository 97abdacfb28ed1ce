"""The nine classes of Moorea Labeled Corals that the study keeps."""

CLASSES = (
    "Acropora",
    "CCA",
    "Macroalgae",
    "Montipora",
    "Pavona",
    "Pocillopora",
    "Porites",
    "Sand",
    "Turf",
)
#: By the class in lower case, as the spelling varies, its number.
NUMBERS = {name.casefold(): number for number, name in enumerate(CLASSES)}
