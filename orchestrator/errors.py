"""Every error that gpuorch raises on purpose, as one tree.

::

    GpuorchError                    exit 1   failure
    ├── UsageError                  exit 64  usage            a word of the command line is wrong
    ├── ConfigInvalid               exit 78  config-invalid   something in a file is wrong
    ├── NoOffer                     exit 3   no-offer         nothing in the price book fits the request
    ├── CapacityNotObtained         exit 4   no-capacity      offers fit, no cloud had the machine
    ├── Refused                     exit 5   refused          a cap, a denial, a budget or the user said no
    ├── PartlyFailed                exit 6   partly-failed    some of several deployments failed
    ├── Busy                        exit 75  busy             somebody else holds the lock: try again
    ├── Interrupted                 exit 130 interrupted      Ctrl-C
    └── Failure                     exit 1   failure
        ├── TerraformMissing                 terraform-missing    no usable terraform binary
        ├── TerraformFailed                  terraform-failed     terraform ended with an error
        ├── NotSetUp                         not-set-up           a cloud lacks credentials or a setting
        ├── CloudCallFailed                  cloud-call-failed    a cloud's own API did not answer as it should
        ├── NotGone                          not-gone             a machine is not confirmed deleted
        ├── NotReady                         not-ready            the machine did not report itself ready in time
        └── StoreDamaged                     store-damaged        a file of ours cannot be read

``code`` is stable and for scripts; the text says what happened, to which thing; ``hint`` says what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from orchestrator.model.failure import Diagnostic
    from orchestrator.model.offer import Rejected

__all__ = [
    "Busy",
    "CapacityNotObtained",
    "CloudCallFailed",
    "ConfigInvalid",
    "Failure",
    "GpuorchError",
    "Interrupted",
    "NoOffer",
    "NotGone",
    "NotReady",
    "NotSetUp",
    "PartlyFailed",
    "Refused",
    "StoreDamaged",
    "TerraformFailed",
    "TerraformMissing",
    "UsageError",
]


class GpuorchError(Exception):
    """Base of the tree. ``str(error)`` is one sentence for people, ``hint`` the next step (may be empty)."""

    code: ClassVar[str] = "failure"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GpuorchError):
    """A word of the command line is wrong: an option, profile, accelerator, number, or a file that is not there."""

    code = "usage"
    exit_code = 64


class ConfigInvalid(GpuorchError):
    """Something that stands in a file (settings, specification, price file) is wrong."""

    code = "config-invalid"
    exit_code = 78


class NoOffer(GpuorchError):
    """No offer in the price book fits the request. ``rejected`` are the offers looked at, each with its reason."""

    code = "no-offer"
    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", rejected: tuple[Rejected, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.rejected = rejected


class CapacityNotObtained(GpuorchError):
    """Offers fit, but every one that was tried failed for capacity, quota or price."""

    code = "no-capacity"
    exit_code = 4


class Refused(GpuorchError):
    """A cap, denial, budget or confirmation forbids it."""

    code = "refused"
    exit_code = 5


class PartlyFailed(GpuorchError):
    """Some of several deployments failed; the others are done."""

    code = "partly-failed"
    exit_code = 6


class Busy(GpuorchError):
    """Another process holds the lock; the same call may succeed later."""

    code = "busy"
    exit_code = 75


class Interrupted(GpuorchError):
    """The user pressed Ctrl-C, or the process was asked to end."""

    code = "interrupted"
    exit_code = 130


class Failure(GpuorchError):
    """Anything else that went wrong."""


class TerraformMissing(Failure):
    """No terraform or OpenTofu of a supported version was found."""

    code = "terraform-missing"


class TerraformFailed(Failure):
    """Terraform ended with an error.

    ``diagnostics`` are terraform's own words, parsed; ``command`` is the subcommand (``init``, ``plan``, ``apply`` …).
    """

    code = "terraform-failed"

    def __init__(self, message: str, *, command: str, diagnostics: tuple[Diagnostic, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.command = command
        self.diagnostics = diagnostics


class NotSetUp(Failure):
    """Offers fit, but every cloud that has them lacks credentials or a setting here."""

    code = "not-set-up"


class CloudCallFailed(Failure):
    """A cloud's own API refused or did not answer."""

    code = "cloud-call-failed"


class NotGone(Failure):
    """The provider does not confirm that everything of a deployment is deleted."""

    code = "not-gone"


class NotReady(Failure):
    """The machine exists but did not report itself ready in time, or reported a failed bootstrap step."""

    code = "not-ready"


class StoreDamaged(Failure):
    """A database or record of ours cannot be read."""

    code = "store-damaged"
