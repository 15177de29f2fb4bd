"""Deployments for people and for scripts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from orchestrator.cli.figures import age_text, money_text, offer_text
from orchestrator.model.codec import iso, money, number, offer_record
from orchestrator.model.deployment import Attempt, Deployment, DeploymentState

__all__ = ["attempt_record", "deployment_record", "machine_lines", "status_columns", "status_row"]


def deployment_record(deployment: Deployment, now: datetime) -> dict[str, Any]:
    """The stable JSON form of one deployment."""
    offer = deployment.offer
    return {
        "name": deployment.name,
        "id": deployment.id,
        "state": str(deployment.state),
        "owner": deployment.owner,
        "profile": deployment.spec["profile"],
        "sandbox": deployment.sandbox,
        "cloud": offer.cloud,
        "region": offer.region,
        "zone": deployment.outputs.get("zone") or offer.zone,
        "instance_type": offer.instance_type,
        "gpu": offer.accelerator,
        "gpu_count": number(offer.gpu_count),
        "market": str(offer.market),
        "price_per_hour": money(offer.price_per_hour),
        "currency": offer.currency,
        "price_observed_at": iso(offer.observed_at),
        "machine_id": deployment.outputs.get("machine_id") or "",
        "address": deployment.outputs.get("address") or "",
        "private_address": deployment.outputs.get("private_address") or "",
        "ready_source": deployment.ready_source,
        "problem": deployment.problem,
        "created_at": iso(deployment.created_at),
        "age_seconds": max(0, int((now - deployment.created_at).total_seconds())),
        "expires_at": iso(deployment.expires_at) if deployment.expires_at else None,
    }


def attempt_record(attempt: Attempt) -> dict[str, Any]:
    """The stable JSON form of one attempt."""
    return {
        "number": attempt.number,
        "offer": offer_record(attempt.offer),
        "result": str(attempt.result),
        "kind": attempt.kind,
        "reason": attempt.reason,
        "at": iso(attempt.at),
    }


status_columns = ("NAME", "STATE", "PROFILE", "WHERE", "TYPE", "MARKET", "$/H", "AGE", "ADDRESS", "NOTE")


def status_row(deployment: Deployment, now: datetime) -> tuple[str, ...]:
    offer = deployment.offer
    record = deployment_record(deployment, now)
    return (
        deployment.name,
        str(deployment.state),
        record["profile"],
        f"{offer.cloud} {record['zone'] or offer.region}",
        offer.instance_type,
        str(offer.market),
        money_text(offer.price_per_hour, offer.currency),
        age_text(record["age_seconds"]),
        record["address"],
        " ".join(filter(None, ("simulated" if deployment.sandbox else "", deployment.problem))),
    )


def machine_lines(deployment: Deployment) -> list[str]:
    """What a user needs after `up`: what runs where, how it was seen to be ready, how to reach and to end it."""
    outputs = deployment.outputs
    lines = [f"{deployment.name} is {deployment.state}: {offer_text(deployment.offer)}"]
    if deployment.sandbox:
        lines[0] += " — simulated"
    if deployment.state is DeploymentState.READY:
        lines.append(f"  ready     by its {deployment.ready_source}")
    if deployment.problem:
        lines.append(f"  problem   {deployment.problem}")
    if outputs.get("machine_id"):
        lines.append(f"  machine   {outputs['machine_id']} {outputs.get('address') or ''}".rstrip())
    if deployment.expires_at:
        lines.append(f"  expires   {iso(deployment.expires_at)}")
    if deployment.spec["access"] != "none" and not deployment.sandbox:
        lines.append(f"  reach it  gpuorch ssh {deployment.name}")
    lines.append(f"  end it    gpuorch down {deployment.name}")
    return lines
