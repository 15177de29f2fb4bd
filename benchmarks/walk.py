"""What gpuorch itself costs while a thousand candidates fail in turn: everything but terraform and the cloud.

    python benchmarks/walk.py [--candidates 1000]

The candidates lie in twenty regions in random order, so that nearly every step also leaves a region. Terraform is
replaced by one that fails at once, the cloud by an empty one; records, cool-downs and rendered files are real.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from orchestrator.errors import CapacityNotObtained, TerraformFailed
from orchestrator.model.failure import Diagnostic
from orchestrator.model.machine import FoundResource, Machine
from orchestrator.model.plan import Applied, PlanReport
from orchestrator.operations.up import resume
from orchestrator.runner.contract import OnEvent
from tests.operations.build_world import FakeCloud, FakeRunner, a_deployment, a_world, offers_over, placed

CAPACITY = "api error InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity"


class FailingRunner(FakeRunner):
    """Nothing is ever there, and nothing can be had."""

    def addresses(self, root: Path) -> tuple[str, ...]:
        return ()

    def plan(
        self, root: Path, *, destroy: bool = False, refresh: bool = True, on_event: OnEvent | None = None
    ) -> PlanReport:
        return PlanReport(file="p", changes=())

    def apply(self, root: Path, plan: PlanReport, *, on_event: OnEvent | None = None) -> Applied:
        raise TerraformFailed(CAPACITY, command="apply", diagnostics=(Diagnostic(severity="error", summary=CAPACITY),))


@dataclass
class EmptyRegion:
    """A region of a cloud that shows nothing."""

    def find(self, deployment_id: str) -> list[Machine]:
        return []

    def resources(self, deployment_id: str) -> list[FoundResource]:
        return []

    def terminate(self, machine_id: str, deployment_id: str) -> None: ...

    def console(self, machine_id: str) -> str:
        return ""

    def read_object(self, uri: str) -> str | None:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1000)
    count = parser.parse_args().candidates
    regions = [f"us-east-{number}" for number in range(1, 21)]
    offers = offers_over(regions, [f"{number:03d}" for number in range(-(-count // len(regions)))])[:count]
    random.Random(1).shuffle(offers)
    with tempfile.TemporaryDirectory() as folder:
        cloud = FakeCloud(Path(folder) / "cloud.json")
        world = a_world(Path(folder), cloud)
        world.open_runner = lambda sandbox, fds: FailingRunner(cloud)
        world.open_machines = lambda name, region, sandbox, settings: EmptyRegion()
        deployment = a_deployment(offer=offers[0])
        world.inventory.create(deployment, placed(*offers))
        wall, own = time.perf_counter(), time.process_time()
        try:
            resume(world, deployment, wait=None)
        except CapacityNotObtained as error:
            print(error.message)
        wall, own = time.perf_counter() - wall, time.process_time() - own
        tried = len(world.inventory.attempts(deployment.id))
        print(f"{tried} candidates: {own:.2f} s of CPU, {wall:.2f} s in all, {own / tried * 1000:.2f} ms each")


if __name__ == "__main__":
    main()
