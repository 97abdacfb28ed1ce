"""The command `track`: finished runs for TensorBoard and Weights & Biases."""

import time
from pathlib import Path
from typing import Annotated

from anynet_study.cli.options import StudyName, opt
from anynet_study.core.errors import UserError, counted

#: Seconds between two looks.
WAIT = 10.0


def track(
    study_name: StudyName,
    tensorboard: Annotated[
        Path | None, opt("Write event files into this folder.", "--tensorboard", metavar="FOLDER")
    ] = None,
    wandb: Annotated[
        str, opt("Log to this project of Weights & Biases.", "--wandb", metavar="PROJECT")
    ] = "",
    watch: Annotated[bool, opt("Continue as runs finish, until Ctrl-C.", "--watch")] = False,
) -> None:
    """Send learning curves to TensorBoard or Weights & Biases.

    It only reads the study's journals. Curves that were sent before are skipped, so the command can
    be repeated. Both need extras: anynet-study[tensorboard],
    anynet-study[wandb].

    \b
    Examples:
      anynet-study track quickstart --tensorboard events && tensorboard --logdir events
      anynet-study track quickstart --wandb my-project --watch
    """
    from anynet_study.engine.study_folder import StudyFolder
    from anynet_study.store import Seen, finished_runs, to_tensorboard, to_wandb

    journals = StudyFolder.open(study_name).journals
    sends = [to_tensorboard(tensorboard)] if tensorboard else []
    sends += [to_wandb(wandb)] if wandb else []
    if not sends:
        raise UserError("say where to: --tensorboard FOLDER or --wandb PROJECT")
    seen: Seen = {}
    sent = 0
    try:
        while True:
            for record in finished_runs(journals, seen):
                for send in sends:
                    send(record)
                sent += 1
            if not watch:
                break
            time.sleep(WAIT)
    except KeyboardInterrupt:
        if not watch:
            raise
    print(f"{counted(sent, 'run')} sent")
