"""Which commands there are. The texts stand here so that ``gpuorch --help`` imports none of them; a test compares."""

from __future__ import annotations

__all__ = ["COMMANDS"]

_COMMANDS = "orchestrator.cli.commands"

COMMANDS: dict[str, tuple[str, str, str]] = {
    "offers": (f"{_COMMANDS}.offers", "offers", "List every offer that fits, cheapest first."),
    "up": (f"{_COMMANDS}.up", "up", "Bring up the cheapest machine that fits."),
    "status": (f"{_COMMANDS}.status", "status", "Show deployments, after asking the clouds."),
    "ssh": (f"{_COMMANDS}.ssh", "ssh", "Log in to a deployment's machine, or run COMMAND there."),
    "down": (f"{_COMMANDS}.down", "down", "Remove deployments, on the cloud's word."),
    "render": (f"{_COMMANDS}.render", "render", "Write the Terraform root without applying it."),
    "profiles": (f"{_COMMANDS}.profiles", "profiles", "List GPU profiles and accelerator facts."),
    "prices": (f"{_COMMANDS}.prices", "prices", "Look into the price book and import into it."),
    "clouds": (
        f"{_COMMANDS}.clouds",
        "clouds",
        "Show which clouds can be used here, and what is missing for the others.",
    ),
    "sandbox": (f"{_COMMANDS}.sandbox", "sandbox", "Look at the simulated clouds, and give them trouble."),
    "doctor": (f"{_COMMANDS}.doctor", "doctor", "Check this installation and say how to mend it."),
    "config": (f"{_COMMANDS}.config", "config", "Show settings and where each comes from."),
    "completion": (f"{_COMMANDS}.completion", "completion", "Print the shell completion script."),
}
