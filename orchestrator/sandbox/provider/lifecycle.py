"""What a provider does with its resources, on plain data: validate, plan, create, read, change, delete, import."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from orchestrator.clouds.rules import CallRefused, MachineFacts, Problem, ProviderRules, ResourceRules, Values
from orchestrator.sandbox.cloud import Call, SimulatedCloud, SimulatedResource, Transaction
from orchestrator.sandbox.faults import Fault
from orchestrator.sandbox.provider.planning import Planned, fill, plan, unconfigurable
from orchestrator.sandbox.provider.schema import Block, ProviderSchema, complete

__all__ = ["Outcome", "Provider"]

_NO_RULES = ResourceRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state that a call leaves behind (``None``: the resource is not there) and what went wrong."""

    values: Values | None
    problems: tuple[Problem, ...] = ()


class _View:
    """A rule's view of the cloud, see :class:`orchestrator.clouds.rules.CloudView`."""

    def __init__(self, transaction: Transaction, cloud: str, region: str, provider: Values) -> None:
        self.transaction = transaction
        self.cloud = cloud
        self.region = region
        self.provider = provider

    def now(self) -> datetime:
        return self.transaction.now

    def get(self, type_: str, id_: str) -> Values | None:
        found = self.transaction.find(cloud=self.cloud, type_=type_, id_=id_)
        return next((each.values for each in found if self._sees(each)), None)

    def live(self, type_: str) -> Sequence[Values]:
        found = self.transaction.find(cloud=self.cloud, type_=type_)
        return [each.values for each in found if self._sees(each)]

    def _sees(self, found: SimulatedResource) -> bool:
        """A call without a region is about all of them."""
        return not self.region or found.region in ("", self.region)

    def new_id(self, prefix: str, length: int = 17) -> str:
        return prefix + secrets.token_hex((length + 1) // 2)[:length]


class Provider:
    """One running stand-in provider. Threads may call it at the same time; ``stop`` ends its waiting."""

    def __init__(self, name: str, schema: ProviderSchema, rules: ProviderRules, cloud: SimulatedCloud) -> None:
        self.name = name
        self.schema = schema
        self._rules = rules
        self._cloud = cloud
        self._config: Values = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    # -- before the plan

    def validate_provider(self, config: Values) -> Sequence[Problem]:
        return tuple(self._rules.configure(config))

    def configure(self, config: Values) -> Sequence[Problem]:
        self._config = config
        return tuple(self._rules.configure(config))

    def validate(self, type_: str, config: Values) -> Sequence[Problem]:
        rules = self._resource(type_)
        return (*unconfigurable(self._block(type_), config), *rules.validate(config))

    def validate_data(self, type_: str, config: Values) -> Sequence[Problem]:
        rules = self._rules.data.get(type_)
        block = self.schema.data[type_].block
        return (*unconfigurable(block, config), *(rules.validate(config) if rules else ()))

    def plan(self, type_: str, prior: Values | None, proposed: Values, config: Values) -> Planned:
        return plan(self._block(type_), self._resource(type_), prior, proposed, config, self._config)

    def legacy(self, type_: str) -> bool:
        """Whether it plans values for arguments that the schema does not call computed.

        Terraform core forgives that only to providers on the older SDK, and checks all others strictly.
        """
        attributes, rules = self._block(type_).attributes, self._resource(type_)
        tops = (path.partition(".")[0] for path in rules.defaults)
        return bool(rules.kept_blocks) or any(top not in attributes or not attributes[top].computed for top in tops)

    # -- the cloud's answers

    def read(self, type_: str, state: Values) -> Outcome:
        region = self._region(type_, state)
        with self._cloud.writing() as transaction:
            fault = transaction.take_fault(self.name, "read", type_, state)
            found = transaction.find(cloud=self.name, region=region, type_=type_, id_=str(state.get("id")))
        problems = self._wait(fault)
        if problems:
            return Outcome(values=state, problems=problems)
        return Outcome(values=complete(self._block(type_), found[-1].values) if found else None)

    def import_(self, type_: str, import_id: str) -> Outcome:
        rules = self._resource(type_)
        region = self._region(type_, {})
        with self._cloud.reading() as transaction:
            candidates = transaction.find(cloud=self.name, region=region, type_=type_)
        for found in candidates:
            if rules.import_id(found.values) == import_id:
                return Outcome(values=complete(self._block(type_), found.values))
        # Terraform's own words where a provider's import finds nothing on its first read.
        detail = f"While attempting to import an existing object to the {type_} with the id {import_id!r}, "
        detail += "the provider detected that no object exists with the given id."
        return Outcome(
            values=None, problems=(Problem(summary="Cannot import non-existent remote object", detail=detail),)
        )

    def read_data(self, type_: str, config: Values) -> Outcome:
        rules = self._rules.data.get(type_)
        if rules is None:
            text = f"the sandbox has no data for {type_}: its cloud's rules do not say what it reads"
            return Outcome(values=None, problems=(Problem(summary=text),))
        block = self.schema.data[type_].block
        region = self._rules.region(self._config, config)
        try:
            with self._cloud.writing() as transaction:
                fault = transaction.take_fault(self.name, "read", f"data.{type_}", config)
                found = rules.read(config, _View(transaction, self.name, region, self._config))
        except CallRefused as refused:
            return Outcome(values=None, problems=(refused.problem,))
        problems = self._wait(fault)
        unknown = plan(block, _NO_RULES, None, config, config, self._config).values
        return Outcome(values=None if problems else fill(block, unknown, found), problems=problems)

    # -- effects

    def create(self, type_: str, planned: Values) -> Outcome:
        region = self._region(type_, planned)
        fault = self._fault("create", type_, planned)
        problems = self._wait(fault, before=True)
        if problems:
            return self._failed("create", type_, region, "", None, problems)
        try:
            with self._cloud.writing() as transaction:
                made = self._make(transaction, type_, region, planned)
        except CallRefused as refused:
            return self._failed("create", type_, region, "", None, (refused.problem,))
        return Outcome(values=made.values, problems=self._wait(fault, after=True))

    def update(self, type_: str, prior: Values, planned: Values) -> Outcome:
        region, id_ = self._region(type_, prior), str(prior.get("id"))
        fault = self._fault("update", type_, planned)
        problems = self._wait(fault, before=True)
        if problems:
            return self._failed("update", type_, region, id_, prior, problems)
        try:
            with self._cloud.writing() as transaction:
                found = transaction.find(cloud=self.name, region=region, type_=type_, id_=id_)
                if not found:
                    raise CallRefused(f"updating {type_} ({id_}): couldn't find resource")
                view = _View(transaction, self.name, region, self._config)
                rules = self._resource(type_)
                values = fill(self._block(type_), planned, rules.update(planned, view))
                facts = rules.machine(values) if rules.machine else None
                deployment = self._deployment(view, type_, values)
                transaction.change(replace(found[-1], values=values, deployment=deployment, machine=facts))
                self._log(transaction, "update", type_, region, id_)
        except CallRefused as refused:
            return self._failed("update", type_, region, id_, prior, (refused.problem,))
        return Outcome(values=values, problems=self._wait(fault, after=True))

    def delete(self, type_: str, prior: Values) -> Outcome:
        region, id_ = self._region(type_, prior), str(prior.get("id"))
        fault = self._fault("delete", type_, prior)
        problems = self._wait(fault, before=True)
        if problems:
            return self._failed("delete", type_, region, id_, prior, problems)
        try:
            with self._cloud.writing() as transaction:
                # One that is gone already is what the caller wanted.
                for found in transaction.find(cloud=self.name, region=region, type_=type_, id_=id_):
                    self._resource(type_).delete(prior, _View(transaction, self.name, region, self._config))
                    transaction.end(found, reason=self._rules.ended if found.machine else "")
                self._log(transaction, "delete", type_, region, id_)
        except CallRefused as refused:
            return self._failed("delete", type_, region, id_, prior, (refused.problem,))
        return Outcome(values=None, problems=self._wait(fault, after=True))

    # -- parts

    def _make(self, transaction: Transaction, type_: str, region: str, planned: Values) -> SimulatedResource:
        rules = self._resource(type_)
        view = _View(transaction, self.name, region or self._rules.region(self._config, planned), self._config)
        values = fill(self._block(type_), planned, rules.create(planned, view))
        if not values.get("id"):
            values["id"] = view.new_id(f"{type_}-")
        facts = rules.machine(values) if rules.machine else None
        if facts is not None and not transaction.has_stock(self.name, region, facts):
            problem = self._rules.capacity_error(facts, region)
            raise CallRefused(problem.summary, problem.detail)
        made = SimulatedResource(
            cloud=self.name,
            region=region,
            type=type_,
            id=str(values["id"]),
            deployment=self._deployment(view, type_, values),
            values=values,
            machine=facts,
            created_at=transaction.now,
            ends_at=None,
            end_reason="",
        )
        if transaction.find(cloud=self.name, region=region, type_=type_, id_=made.id):
            raise CallRefused(f"creating {type_} ({made.id}): it already exists")
        made = self._with_time_limit(made, facts)
        transaction.add(made)
        self._log(transaction, "create", type_, region, made.id)
        return made

    def _with_time_limit(self, made: SimulatedResource, facts: MachineFacts | None) -> SimulatedResource:
        """A machine ends itself when the time limit in its user data is over."""
        if facts is None:
            return made
        from orchestrator.sandbox.boot import time_limit

        limit = time_limit(facts.user_data)
        if limit is None:
            return made
        return replace(made, ends_at=made.created_at + limit, end_reason=self._rules.shut_down)

    def _deployment(self, view: _View, type_: str, values: Values) -> str:
        own = self._rules.deployment(values)
        parent = self._resource(type_).parent
        if own or parent is None:
            return own
        found = view.transaction.find(cloud=self.name, type_=parent[0], id_=str(values.get(parent[1])))
        return found[-1].deployment if found else ""

    def _fault(self, operation: str, type_: str, values: Values) -> Fault | None:
        with self._cloud.writing() as transaction:
            return transaction.take_fault(self.name, operation, type_, values)

    def _wait(self, fault: Fault | None, *, before: bool = False, after: bool = False) -> tuple[Problem, ...]:
        """Sit out the fault's delay; its error belongs before the effect. A stop ends the waiting with an error."""
        if fault is None:
            return ()
        seconds = fault.delay_after if after else fault.delay_before
        if seconds > 0 and self._stopped.wait(seconds):
            # What a provider on either SDK answers when terraform asks it to stop.
            return (Problem(summary="context canceled"),)
        return () if after or not fault.error else (Problem(summary=fault.error, detail=fault.detail),)

    def _failed(
        self, operation: str, type_: str, region: str, id_: str, state: Values | None, problems: Iterable[Problem]
    ) -> Outcome:
        problems = tuple(problems)
        with self._cloud.writing() as transaction:
            self._log(transaction, operation, type_, region, id_, problems[0].summary)
        return Outcome(values=state, problems=problems)

    def _log(
        self, transaction: Transaction, operation: str, type_: str, region: str, id_: str, error: str = ""
    ) -> None:
        plain: dict[str, Any] = {"operation": operation, "type": type_, "id": id_, "error": error}
        transaction.log(Call(at=transaction.now, cloud=self.name, region=region, **plain))

    def _resource(self, type_: str) -> ResourceRules:
        return self._rules.resources.get(type_, _NO_RULES)

    def _block(self, type_: str) -> Block:
        return self.schema.resources[type_].block

    def _region(self, type_: str, values: Values) -> str:
        return "" if self._resource(type_).is_global else self._rules.region(self._config, values)
