"""Trying candidates in order until a machine exists; each step is written down before it is done."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from orchestrator.errors import CapacityNotObtained, GpuorchError, TerraformFailed
from orchestrator.model.deployment import Attempt, AttemptResult, Deployment, DeploymentState
from orchestrator.model.failure import CoolDown, Failure, FailureKind
from orchestrator.model.launch import Stack
from orchestrator.model.offer import Offer
from orchestrator.operations.order import launch_for
from orchestrator.operations.places import Place
from orchestrator.operations.world import Stage, World
from orchestrator.placement.cooldowns import CoolDownIndex, still_fits
from orchestrator.runner.contract import OnEvent, Runner, RunnerEvent
from orchestrator.runner.failures import classify

__all__ = ["finish", "provision"]

# An unknown create error goes on to the next candidate; a short memory keeps the next run from repeating it at once.
_UNKNOWN_COOL_DOWN = timedelta(minutes=5)
# Too many calls: the same offer again after this pause, so often, before it counts as failed.
_THROTTLED_PAUSE_SECONDS = 20.0
_THROTTLED_RETRIES = 2


def provision(world: World, deployment: Deployment, runner: Runner) -> Deployment:
    """Go through the placement's candidates, from where the record stands, until one machine exists.

    The deployment's lock must be held. Returns the record in state ``bootstrapping``. Raises
    :class:`CapacityNotObtained` when every candidate failed (everything made on the way is removed again) and
    :class:`TerraformFailed` for a failure that another offer would not mend.
    """
    return _Walk(world, deployment, runner).run()


def finish(world: World, deployment: Deployment, runner: Runner) -> Deployment:
    """Make the attempt that the record names real, after a cut: applying its root again does what is missing."""
    return _Walk(world, deployment, runner).attempt(deployment.offer, deployment.attempt)


class _Walk:
    def __init__(self, world: World, deployment: Deployment, runner: Runner) -> None:
        self.world = world
        self.deployment = deployment
        self.runner = runner
        self.candidates = world.inventory.placement(deployment.id).candidates
        before = world.inventory.attempts(deployment.id)
        self.tried = {attempt.number for attempt in before if attempt.result is AttemptResult.FAILED}
        self.touched = {(attempt.offer.cloud, attempt.offer.region) for attempt in before if attempt.applied}
        # What failed since this deployment was decided; what was known before shaped its placement already.
        known = world.inventory.cool_downs(self._now(), sandbox=deployment.sandbox)
        self.learnt = CoolDownIndex(cool_down for cool_down in known if cool_down.since >= deployment.created_at)
        self.last: Failure | None = None
        # Clouds that nothing more is tried in, and why: credentials, or a configuration that they refuse.
        self.ruled_out: dict[str, Failure] = {}
        self.written: dict[Path, Stack] = {}

    def run(self) -> Deployment:
        first = max(1, self.deployment.attempt)
        for number, offer in enumerate(self.candidates[first - 1 :], first):
            if number in self.tried:
                continue
            if skipped := self._stands_against(offer):
                self._skip(number, offer, *skipped)
                continue
            self._leave_place(offer)
            try:
                return self.attempt(offer, number)
            except TerraformFailed as error:
                self._learn(number, offer, error)
        self._undo(self.last.reason if self.last else "every offer is known to fail")
        raise CapacityNotObtained(
            f"none of {len(self.candidates)} offers could be had; {self.deployment.problem}",
            hint=f"each attempt: gpuorch status {self.deployment.name} --events; widen --region or --market, or wait",
        )

    def attempt(self, offer: Offer, number: int) -> Deployment:
        attempt = Attempt(number=number, offer=offer, result=AttemptResult.STARTED, at=self._now())
        attempt = replace(attempt, applied=(offer.cloud, offer.region) in self.touched)
        self.deployment = self.world.inventory.begin_attempt(self.deployment, attempt)
        self.world.progress.say(f"attempt {number} of {len(self.candidates)}: {offer.key}")
        outputs = self._terraform(self._place(offer), attempt)
        ssh_user = self._ssh_user(offer)
        now = self._now()
        made = replace(attempt, result=AttemptResult.CREATED, applied=True, at=now)
        self.world.inventory.record_attempts(self.deployment, [made])
        self.deployment = replace(
            self.deployment, state=DeploymentState.BOOTSTRAPPING, outputs={**outputs, "ssh_user": ssh_user}
        )
        self.deployment = self.world.inventory.save(
            self.deployment, now, "machine-created", {"machine": outputs.get("machine_id"), "offer": str(offer.key)}
        )
        return self.deployment

    # ---- private, in call order

    def _terraform(self, place: Place, attempt: Attempt) -> dict[str, object]:
        progress = self.world.progress
        with progress.stage("render"):
            place.write()
        with progress.stage("init"):
            place.initialise()
        for retry in range(_THROTTLED_RETRIES + 1):
            try:
                with progress.stage("plan") as stage:
                    plan = self.runner.plan(place.root)
                    stage.detail(f"{plan.count('create')} to add, {plan.count('replace')} to replace")
                self._touch(place, attempt)
                with progress.stage("apply") as stage:
                    applied = self.runner.apply(place.root, plan, on_event=_show(stage))
                    stage.detail(f"{applied.added} added, {applied.changed} changed, {applied.removed} removed")
                return dict(applied.outputs)
            except TerraformFailed as error:
                if retry == _THROTTLED_RETRIES or self._classify(place.offer, error).kind is not FailureKind.THROTTLED:
                    raise
                progress.say(f"{place.offer.cloud} asks for patience; again in {_THROTTLED_PAUSE_SECONDS:.0f} s")
                self.world.clock.sleep(_THROTTLED_PAUSE_SECONDS)
        raise AssertionError("the loop returns or raises")

    def _touch(self, place: Place, attempt: Attempt) -> None:
        """Before the first change in a place: from now on something may exist there."""
        key = (place.offer.cloud, place.offer.region)
        if key not in self.touched:
            self.touched.add(key)
            self.world.inventory.record_attempts(self.deployment, [replace(attempt, applied=True)], durable=True)

    def _ssh_user(self, offer: Offer) -> str:
        cloud = self.world.cloud(offer.cloud)
        identity, name = self.deployment.id, self.deployment.name
        return launch_for(self.deployment.spec, offer, cloud, deployment_id=identity, name=name).image.ssh_user

    def _stands_against(self, offer: Offer) -> tuple[FailureKind, str] | None:
        if failure := self.ruled_out.get(offer.cloud):
            return failure.kind, f"nothing more is tried in {offer.cloud}: {failure.reason}"
        if covered := still_fits(offer, self.learnt, self._now()):
            return covered.kind, f"failed a moment ago: {covered.reason}"
        return None

    def _skip(self, number: int, offer: Offer, kind: FailureKind, reason: str) -> None:
        skipped = Attempt(
            number=number, offer=offer, result=AttemptResult.SKIPPED, kind=kind, reason=reason, at=self._now()
        )
        self.world.inventory.record_attempts(self.deployment, [skipped])

    def _leave_place(self, offer: Offer) -> None:
        """Remove what a failed attempt made, before going on: in another region, so that nothing stays behind there;
        after a failure that nobody knows, or one that leaves something behind, also in the same one, where there may be
        a machine that terraform does not know and that the next attempt would make a second time."""
        before = self.deployment.offer
        place = (before.cloud, before.region)
        unknown = self.last is not None and (self.last.kind is FailureKind.UNKNOWN or self.last.leftovers)
        if place in self.touched and (unknown or place != (offer.cloud, offer.region)):
            with self.world.progress.stage(f"clean up {before.cloud} {before.region}"):
                self._place(before).destroy()

    def _learn(self, number: int, offer: Offer, error: TerraformFailed) -> None:
        failure = self._classify(offer, error)
        now = self._now()
        failed = Attempt(
            number=number,
            offer=offer,
            result=AttemptResult.FAILED,
            kind=failure.kind,
            reason=failure.reason,
            applied=(offer.cloud, offer.region) in self.touched,
            at=now,
        )
        cool_down = CoolDown.after(failure, offer, now)
        self.world.inventory.record_attempts(self.deployment, [failed], cool_down)
        self.world.progress.say(f"failed ({failure.kind}): {failure.reason}")
        if not failure.kind.try_next:
            self.ruled_out[offer.cloud] = failure
            if all(other.cloud in self.ruled_out for other in self.candidates[number:]):
                self._give_up(offer, failure, error)
            self.world.progress.say(
                f"nothing more is tried in {offer.cloud}; {failure.hint or error.hint}".rstrip("; ")
            )
        if cool_down is not None:
            self.learnt.add(cool_down)
        self.last = failure

    def _give_up(self, offer: Offer, failure: Failure, error: TerraformFailed) -> None:
        """Another offer would fail the same way: undo and say so. What cannot be undone now stays in the record."""
        hint = failure.hint or error.hint
        try:
            self._undo(failure.reason)
        except GpuorchError as undo:
            hint = f"{hint}; what was made is not removed yet ({undo.message}): gpuorch down {self.deployment.name}"
        raise TerraformFailed(
            f"{offer.cloud} {offer.location}: {failure.reason}",
            command=error.command,
            diagnostics=error.diagnostics,
            hint=hint,
        ) from error

    def _undo(self, reason: str) -> None:
        """Nothing came up: remove what is left, and only then call the deployment failed."""
        before = self.deployment.offer
        if (before.cloud, before.region) in self.touched:
            with self.world.progress.stage("clean up"):
                self._place(before).destroy()
        failed = replace(self.deployment, state=DeploymentState.FAILED, problem=reason)
        self.deployment = self.world.inventory.save(failed, self._now(), "failed", {"reason": reason})

    def _classify(self, offer: Offer, error: TerraformFailed) -> Failure:
        rules = self.world.cloud(offer.cloud).failures
        return classify(error.diagnostics, rules, fallback_cool_down=_UNKNOWN_COOL_DOWN)

    def _place(self, offer: Offer) -> Place:
        return Place(
            world=self.world, deployment=self.deployment, offer=offer, runner=self.runner, written=self.written
        )

    def _now(self) -> datetime:
        return self.world.clock.now()


def _show(stage: Stage) -> OnEvent:
    def show(event: RunnerEvent) -> None:
        if event.kind in ("apply_start", "apply_progress", "apply_complete") and event.address:
            stage.detail(event.message)

    return show
