"""The command tree. Heavy imports live inside the commands: `--help` must be instant."""

import typer

app = typer.Typer(
    name="anynet-study",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Does progress on ImageNet carry over? Train a population of architectures on many "
    "datasets and compare their errors.",
)
