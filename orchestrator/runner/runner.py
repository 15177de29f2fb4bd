"""The runner: terraform as a program, behind the contract."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from orchestrator.errors import Busy, Interrupted, TerraformFailed, TerraformMissing
from orchestrator.model.failure import Diagnostic
from orchestrator.model.plan import Applied, PlanReport
from orchestrator.runner import argv, reports
from orchestrator.runner.binary import Binary
from orchestrator.runner.contract import OnEvent, RunnerEvent
from orchestrator.runner.ending import Cancellation
from orchestrator.runner.environment import child_environment
from orchestrator.runner.events import Transcript, diagnostic_of
from orchestrator.runner.failures import classify, first_line, lock_holder
from orchestrator.runner.logs import OutputFiles, open_output
from orchestrator.runner.process import Child, Ended, NotStarted, run_child

__all__ = ["TerraformRunner", "TimeLimits"]

NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """Seconds after which a command is stopped. ``grace`` is how long a stopped one may take to write its state.

    ``change`` is for apply and destroy, which wait for machines; ``plan`` also for import, which reads the cloud;
    ``read`` for what looks at files and the state only.
    """

    init: float = 900
    plan: float = 900
    change: float = 3600
    read: float = 120
    grace: float = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    ended: Ended
    transcript: Transcript
    lines: Sequence[str]
    log: Path | None


class TerraformRunner:
    """Runs one terraform at a time; another thread's :meth:`cancel` stops it. See the contract for the errors.

    ``cli_config`` is our CLI configuration, ``environment`` the caller's (what is refused of it stands in ``notice``),
    ``extra_environment`` is set on top of it. ``inherit_fds`` stay open in terraform and in what it starts.
    """

    def __init__(
        self,
        binary: Binary,
        cli_config: Path,
        environment: Mapping[str, str],
        *,
        extra_environment: Mapping[str, str] | None = None,
        inherit_fds: Sequence[int] = (),
        lock_timeout: str = argv.LOCK_TIMEOUT,
        parallelism: int = argv.PARALLELISM,
        time_limits: TimeLimits | None = None,
    ) -> None:
        self.binary = binary
        child = child_environment(environment, cli_config=str(cli_config.absolute()), extra=extra_environment)
        self.notice = child.notice
        self._environment = child.variables
        self._inherit_fds = tuple(inherit_fds)
        self._locking: dict[str, Any] = {"lock_timeout": lock_timeout, "parallelism": parallelism}
        self._limits = time_limits or TimeLimits()
        self._cancellation = Cancellation()

    def cancel(self) -> None:
        """Stop what runs, or the next command; may be called from another thread or a signal handler.

        The command then raises :class:`Interrupted`, after which the runner can be used again. A second call while it
        still runs ends terraform at once. SIGINT and SIGTERM do the same while a command runs in the main thread.
        """
        self._cancellation.request()

    def version(self) -> str:
        return str(self.binary)

    def init(self, root: Path, *, on_event: OnEvent | None = None) -> None:
        words = argv.init(self.binary.argv, json=self.binary.streams_init)
        self._checked("init", root, words, self._limits.init, on_event=on_event, keep=True)

    def validate(self, root: Path) -> tuple[Diagnostic, ...]:
        done = self._run("validate", root, argv.validate(self.binary.argv), self._limits.read)
        if done.ended.exit_code not in (0, 1):
            raise _failure("validate", root, done)
        found = _document("validate", root, done).get("diagnostics", [])
        return tuple(diagnostic for entry in found if (diagnostic := diagnostic_of(entry)) is not None)

    def plan(
        self, root: Path, *, destroy: bool = False, refresh: bool = True, on_event: OnEvent | None = None
    ) -> PlanReport:
        words = argv.plan(self.binary.argv, destroy=destroy, refresh=refresh, **self._locking)
        done = self._checked("plan", root, words, self._limits.plan, on_event=on_event, keep=True, good=(0, 2))
        return reports.plan_report(
            done.transcript.records,
            file=argv.PLAN_FILE,
            changed=done.ended.exit_code == 2,
            warnings=done.transcript.warnings,
        )

    def apply(self, root: Path, plan: PlanReport, *, on_event: OnEvent | None = None) -> Applied:
        words = argv.apply(self.binary.argv, plan_file=plan.file, **self._locking)
        done = self._checked("apply", root, words, self._limits.change, on_event=on_event, keep=True)
        outputs = reports.streamed_outputs(done.transcript.records)
        return reports.applied(done.transcript.records, self.outputs(root) if outputs is None else outputs)

    def destroy(self, root: Path, *, on_event: OnEvent | None = None) -> Applied:
        words = argv.destroy(self.binary.argv, **self._locking)
        done = self._checked("destroy", root, words, self._limits.change, on_event=on_event, keep=True)
        return reports.applied(done.transcript.records, {})

    def outputs(self, root: Path) -> Mapping[str, Any]:
        done = self._checked("output", root, argv.output(self.binary.argv), self._limits.read)
        return reports.output_values(_document("output", root, done))

    def addresses(self, root: Path) -> tuple[str, ...]:
        done = self._checked("state pull", root, argv.state_pull(self.binary.argv), self._limits.read)
        return reports.addresses_in_state(_document("state pull", root, done))

    def tainted(self, root: Path) -> tuple[str, ...]:
        done = self._checked("state pull", root, argv.state_pull(self.binary.argv), self._limits.read)
        return reports.addresses_in_state(_document("state pull", root, done), tainted=True)

    def untaint(self, root: Path, address: str) -> None:
        words = argv.untaint(self.binary.argv, address, lock_timeout=self._locking["lock_timeout"])
        self._checked("untaint", root, words, self._limits.read)

    def adopt(self, root: Path, address: str, import_id: str) -> None:
        words = argv.import_resource(self.binary.argv, address, import_id, **self._locking)
        self._checked("import", root, words, self._limits.plan)

    def _checked(
        self,
        command: str,
        root: Path,
        words: Sequence[str],
        limit: float,
        *,
        on_event: OnEvent | None = None,
        keep: bool = False,
        good: tuple[int, ...] = (0,),
    ) -> _Done:
        done = self._run(command, root, words, limit, on_event=on_event, keep=keep)
        if done.ended.exit_code not in good:
            raise _failure(command, root, done)
        return done

    def _run(
        self,
        command: str,
        root: Path,
        words: Sequence[str],
        limit: float,
        *,
        on_event: OnEvent | None = None,
        keep: bool = False,
    ) -> _Done:
        """Run it to its end, with :class:`Interrupted` and time limits taken care of; any exit code."""
        if self._cancellation.requests:
            self._cancellation.clear()
            raise Interrupted(f"stopped before terraform {command}")
        child = Child(
            argv=words,
            root=root,
            environment=self._environment,
            inherit_fds=self._inherit_fds,
            time_limit_seconds=limit,
            grace_seconds=self._limits.grace,
        )
        transcript = Transcript()
        lines: list[str] = []
        take = _streamed(transcript, on_event) if keep else lines.append
        with closing(_open_output(command, root, keep)) as files:
            try:
                ended = run_child(child, files, self._cancellation, on_line=take, on_notice=_notices(on_event))
            except NotStarted as error:
                raise _not_started(command, root, self.binary, error) from error
            finally:
                self._cancellation.clear()
        if ended.cancelled:
            raise Interrupted(f"terraform {command} was interrupted", hint=_state_of_things(ended))
        if ended.timed_out:
            raise TerraformFailed(
                f"terraform {command} in {root} was stopped: it took longer than {timedelta(seconds=limit)}",
                command=command,
                diagnostics=tuple(transcript.diagnostics),
                hint=_state_of_things(ended),
            )
        return _Done(ended=ended, transcript=transcript, lines=lines, log=files.path)


def _open_output(command: str, root: Path, keep: bool) -> OutputFiles:
    try:
        return open_output(root, command, keep=keep)
    except OSError as error:
        raise TerraformFailed(
            f"terraform {command} was not run: its log in {root} cannot be written: {error.strerror}", command=command
        ) from error


def _not_started(command: str, root: Path, binary: Binary, error: NotStarted) -> Exception:
    if not root.is_dir():
        return TerraformFailed(f"terraform {command} was not run: there is no folder {root}", command=command)
    return TerraformMissing(f"{binary.argv[0]} cannot be started: {error}", hint="look with: gpuorch doctor")


def _document(command: str, root: Path, done: _Done) -> dict[str, Any]:
    """The one JSON object that a command printed; empty where it printed nothing (there is no state yet)."""
    text = "\n".join(done.lines)
    if not text.strip():
        return {}
    try:
        document = json.loads(text[text.index("{") :])
    except ValueError as error:
        message = f"terraform {command} in {root} printed no JSON: {first_line(text)}"
        raise TerraformFailed(message, command=command) from error
    return dict(document)


def _failure(command: str, root: Path, done: _Done) -> Exception:
    errors = done.transcript.errors("\n".join([*done.lines, done.ended.stderr]), done.ended.exit_code)
    holder = lock_holder(errors)
    if holder is not None:
        return Busy(f"the Terraform state in {root} is locked by {holder}", hint="try again when that has ended")
    known = classify(errors, (), fallback_cool_down=timedelta(0))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    hint = known.hint or (f"all that terraform said: {done.log}" if done.log is not None else "")
    message = f"terraform {command} failed: {known.reason}{more}"
    return TerraformFailed(message, command=command, diagnostics=errors, hint=hint)


def _streamed(transcript: Transcript, on_event: OnEvent | None) -> Callable[[str], None]:
    def take(line: str) -> None:
        event = transcript.add(line)
        if event is not None and on_event is not None:
            on_event(event)

    return take


def _notices(on_event: OnEvent | None) -> Callable[[str], None]:
    def show(text: str) -> None:
        if on_event is not None:
            on_event(RunnerEvent(kind=NOTICE, message=text))

    return show


def _state_of_things(ended: Ended) -> str:
    if ended.forced or ended.exit_code < 0:
        return "terraform was ended by force: what it was creating may be missing from its state"
    return "terraform has ended by itself and written its state"
