"""Whether a store and its journals are whole, say what they said, and agree.

`verify` a results store; `verify_journals` a study's journals, and the store against them.
"""

from anynet_study.store.verifying.finding import Finding
from anynet_study.store.verifying.journals import verify_journals
from anynet_study.store.verifying.store import verify

__all__ = ["Finding", "verify", "verify_journals"]
