"""What a worker on a GPU decides once: whether Triton's kernels work, and whose table there is."""

from collections.abc import Iterator

import pytest
import torch
from interpreted import fused_norms

from anynet_study.engine.models import Backend, backend, backend_here, convolution_ways
from anynet_study.engine.models.convolution_ways import Timed


@pytest.fixture(autouse=True)
def _gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A GPU that nobody knows."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H900")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    kept = backend.processor, backend._triton_works
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


def test_kernels_that_work_are_used_and_so_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr(fused_norms, "try_out", tried.append)
    usual = Backend("rewritten", "sm_90", torch.get_num_threads(), "cuda", triton=True)
    assert backend_here(None, "cuda") == usual
    table = (Timed(3, 8, 64, 8, {"channels last": 1.0}),)
    monkeypatch.setattr(
        convolution_ways, "table_of", lambda gpu: table if gpu == "NVIDIA H900" else ()
    )
    assert backend_here(None, "cuda").instructions == "sm_90, Triton, table of NVIDIA H900"
    assert backend_here("plain", "cuda").instructions == "sm_90"
    assert tried == ["cuda"]  # once a process


@pytest.mark.parametrize(
    "error",
    [
        ImportError("No module named 'triton'"),
        RuntimeError("Failed to find C compiler.\nPlease specify it"),
        ArithmeticError("kernels in Triton give other results than torch's"),
    ],
    ids=lambda it: type(it).__name__,
)
def test_kernels_that_do_not_work_are_not_used_and_why_is_said(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def try_out(device: str) -> None:
        raise error

    monkeypatch.setattr(fused_norms, "try_out", try_out)
    assert not backend_here(None, "cuda").triton
    first = str(error).partition("\n")[0]
    assert capsys.readouterr().err == f"torch's own batch norms: {first}\n"
