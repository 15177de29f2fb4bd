"""Terraform's plugin protocol 6 in terms of :class:`~orchestrator.sandbox.provider.lifecycle.Provider`.

Messages and fields are those of terraform's ``tfplugin6.proto``; the generated classes come from the package ``tf``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tf.gen import tfplugin_pb2 as pb

from orchestrator.sandbox.provider import codec
from orchestrator.sandbox.provider.lifecycle import Outcome, Provider
from orchestrator.sandbox.provider.schema import Block, complete
from orchestrator.sandbox.provider.wire import attribute_path, diagnostics, schema_message

__all__ = ["SERVICE", "Servicer"]

SERVICE = "tfplugin6.Provider"


class Servicer:
    """One method an RPC; ``methods`` lists them with their request classes."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._schema = provider.schema
        self._capabilities = pb.ServerCapabilities(plan_destroy=False, get_provider_schema_optional=True)

    def methods(self) -> Mapping[str, tuple[Callable[[Any], Any], Any]]:
        """RPC name → handler and request class; every response serializes itself."""
        handlers = (
            self.GetMetadata,
            self.GetProviderSchema,
            self.GetFunctions,
            self.ValidateProviderConfig,
            self.ValidateResourceConfig,
            self.ValidateDataResourceConfig,
            self.ConfigureProvider,
            self.UpgradeResourceState,
            self.ReadResource,
            self.PlanResourceChange,
            self.ApplyResourceChange,
            self.ImportResourceState,
            self.ReadDataSource,
            self.StopProvider,
        )
        return {each.__name__: (each, getattr(pb, each.__name__).Request) for each in handlers}

    def GetMetadata(self, request: Any) -> Any:
        return pb.GetMetadata.Response(
            server_capabilities=self._capabilities,
            resources=[pb.GetMetadata.ResourceMetadata(type_name=name) for name in self._schema.resources],
            data_sources=[pb.GetMetadata.DataSourceMetadata(type_name=name) for name in self._schema.data],
        )

    def GetProviderSchema(self, request: Any) -> Any:
        return pb.GetProviderSchema.Response(
            provider=schema_message(self._schema.provider),
            resource_schemas={name: schema_message(item) for name, item in self._schema.resources.items()},
            data_source_schemas={name: schema_message(item) for name, item in self._schema.data.items()},
            server_capabilities=self._capabilities,
        )

    def GetFunctions(self, request: Any) -> Any:
        return pb.GetFunctions.Response()

    def ValidateProviderConfig(self, request: Any) -> Any:
        config = _read(request.config, self._schema.provider.block)
        problems = self._provider.validate_provider(config or {})
        return pb.ValidateProviderConfig.Response(diagnostics=diagnostics(problems))

    def ConfigureProvider(self, request: Any) -> Any:
        config = _read(request.config, self._schema.provider.block)
        return pb.ConfigureProvider.Response(diagnostics=diagnostics(self._provider.configure(config or {})))

    def ValidateResourceConfig(self, request: Any) -> Any:
        config = _read(request.config, self._resource(request))
        problems = self._provider.validate(request.type_name, config or {})
        return pb.ValidateResourceConfig.Response(diagnostics=diagnostics(problems))

    def ValidateDataResourceConfig(self, request: Any) -> Any:
        config = _read(request.config, self._schema.data[request.type_name].block)
        problems = self._provider.validate_data(request.type_name, config or {})
        return pb.ValidateDataResourceConfig.Response(diagnostics=diagnostics(problems))

    def UpgradeResourceState(self, request: Any) -> Any:
        block = self._resource(request)
        values = codec.from_json(request.raw_state.json, block.type)
        return pb.UpgradeResourceState.Response(upgraded_state=_written(complete(block, values), block))

    def PlanResourceChange(self, request: Any) -> Any:
        block, answer = self._resource(request), pb.PlanResourceChange.Response
        prior, config = _read(request.prior_state, block), _read(request.config, block)
        proposed = _read(request.proposed_new_state, block)
        if proposed is None:
            return answer(planned_state=_written(None, block))
        planned = self._provider.plan(request.type_name, prior, proposed, config or {})
        return answer(
            planned_state=_written(planned.values, block),
            requires_replace=[attribute_path(path) for path in planned.replace],
            legacy_type_system=self._provider.legacy(request.type_name),
        )

    def ApplyResourceChange(self, request: Any) -> Any:
        block, type_ = self._resource(request), request.type_name
        prior, planned = _read(request.prior_state, block), _read(request.planned_state, block)
        if planned is None:
            outcome = self._provider.delete(type_, prior or {})
        elif prior is None:
            outcome = self._provider.create(type_, planned)
        else:
            outcome = self._provider.update(type_, prior, planned)
        return pb.ApplyResourceChange.Response(
            new_state=_written(outcome.values, block),
            diagnostics=diagnostics(outcome.problems),
            legacy_type_system=self._provider.legacy(type_),
        )

    def ReadResource(self, request: Any) -> Any:
        block = self._resource(request)
        outcome = self._provider.read(request.type_name, _read(request.current_state, block) or {})
        return pb.ReadResource.Response(
            new_state=_written(outcome.values, block), diagnostics=diagnostics(outcome.problems)
        )

    def ImportResourceState(self, request: Any) -> Any:
        block = self._resource(request)
        outcome = self._provider.import_(request.type_name, request.id)
        imported = [] if outcome.values is None else [self._imported(request.type_name, outcome, block)]
        return pb.ImportResourceState.Response(imported_resources=imported, diagnostics=diagnostics(outcome.problems))

    def ReadDataSource(self, request: Any) -> Any:
        block = self._schema.data[request.type_name].block
        outcome = self._provider.read_data(request.type_name, _read(request.config, block) or {})
        return pb.ReadDataSource.Response(
            state=_written(outcome.values, block), diagnostics=diagnostics(outcome.problems)
        )

    def StopProvider(self, request: Any) -> Any:
        self._provider.stop()
        return pb.StopProvider.Response()

    def _imported(self, type_: str, outcome: Outcome, block: Block) -> Any:
        return pb.ImportResourceState.ImportedResource(type_name=type_, state=_written(outcome.values, block))

    def _resource(self, request: Any) -> Block:
        return self._schema.resources[request.type_name].block


def _read(value: Any, block: Block) -> dict[str, Any] | None:
    if value.msgpack:
        found: dict[str, Any] | None = codec.decode(value.msgpack, block.type)
        return found
    return codec.from_json(value.json, block.type) if value.json else None


def _written(values: Mapping[str, Any] | None, block: Block) -> Any:
    return pb.DynamicValue(msgpack=codec.encode(values, block.type))
