"""The launches of the golden trees, and the cloud-init text that stands in for the bootstrap in them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from orchestrator.model.demand import Access
from orchestrator.model.launch import Launch
from orchestrator.model.offer import Market
from tests.build import a_launch, an_image, an_offer

__all__ = ["CASES", "HOSTILE", "PLAIN_CLOUD_INIT"]

PLAIN_CLOUD_INIT = "#cloud-config\n# the bootstrap has golden files of its own\n"

HOSTILE = '"; rm -rf / #${1+1}%{for x in y}\\n\nzweite Zeile\t`id` $(id) \\" <<EOT é 漢字 {{ 7*7 }} {% raw %}'

SPOT_MINIMAL = a_launch(ssh_allowed_cidrs=(), ssh_public_key="", access=Access.NONE, ttl=None, owner="", profile="")

ON_DEMAND_FULL = a_launch(
    offer=an_offer(market=Market.ON_DEMAND, region="eu-west-1", zone="eu-west-1b", instance_type="p5.48xlarge"),
    image=an_image(
        reference="ssm:/aws/service/deeplearning/ami/x86_64/base-with-single-cuda-ubuntu-24.04/latest/ami-id"
    ),
    access=Access.SESSION,
    ssh_public_key="",
    ssh_allowed_cidrs=(),
    subnet="subnet-0123456789abcdef0",
    disk_gib=500,
    checkpoint_uri="s3://team-checkpoints/runs/llm",
    labels={"team": "vision", "cost-centre": "4711"},
    ttl=timedelta(hours=12),
    expires_at="2026-12-01T00:00:00Z",
)

HOSTILE_STRINGS = a_launch(
    name=HOSTILE,
    owner=HOSTILE,
    profile=HOSTILE,
    expires_at=HOSTILE,
    image=an_image(reference=HOSTILE),
    ssh_public_key=HOSTILE,
    ssh_allowed_cidrs=(HOSTILE,),
    subnet=HOSTILE,
    checkpoint_uri=HOSTILE,
    labels={HOSTILE: HOSTILE, "${path.root}": "%{ if true }"},
    offer=an_offer(region=HOSTILE, zone=HOSTILE, instance_type=HOSTILE),
    max_price_per_hour=Decimal("12.50"),
)

CASES: dict[str, Launch] = {
    "spot_minimal": SPOT_MINIMAL,
    "on_demand_full": ON_DEMAND_FULL,
    "hostile_strings": HOSTILE_STRINGS,
}
