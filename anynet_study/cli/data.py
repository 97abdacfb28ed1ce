"""`anynet-study data`: add datasets as they were downloaded, list them, look at one."""

import typer

from anynet_study.cli.data_add import add
from anynet_study.cli.data_info import info
from anynet_study.cli.data_list import list_datasets

data_app = typer.Typer(
    no_args_is_help=True,
    help="Add datasets as they were downloaded; list them; look at one. They live in "
    "$ANYNET_DATA, by default the folder data/.",
)
data_app.command()(add)
data_app.command(name="list")(list_datasets)
data_app.command()(info)
