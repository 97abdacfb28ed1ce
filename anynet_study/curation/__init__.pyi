from .image_sets import ImageSet as ImageSet
from .image_sets import open_images as open_images
from .near_duplicates import find_near_duplicates as find_near_duplicates
from .selection import candidate_images as candidate_images
from .selection import histogram as histogram
from .selection import pack_selection as pack_selection
from .selection import read_annotations as read_annotations
from .selection import select_images as select_images
