"""What moto does not do as AWS does it, and the double does instead: spot fields, consoles, images, quotas."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from tests.clouds.aws_double_wire import Answer, WireCall, error_answer, json_answer, xml_answer

__all__ = ["ACCOUNT", "DEEP_LEARNING_IMAGE", "Gaps", "SpotRequest", "moto_ec2"]

ACCOUNT = "123456789012"
IMAGE_PARAMETERS = ("/aws/service/deeplearning/ami/", "/aws/service/canonical/ubuntu/")
DEEP_LEARNING_IMAGE = "ami-dca37ea5"  # an Ubuntu deep learning image among those that moto knows in every region
# AWS's own policies that may be attached. moto has them all, at the price of a second for each fresh start.
AWS_POLICIES = frozenset({"AmazonSSMManagedInstanceCore"})
ON_DEMAND_PRICE = "32.7726"  # what AWS reports as the limit where the request names none


def moto_ec2(region: str) -> Any:
    """moto's state of EC2 in a region."""
    from moto.ec2.models import ec2_backends

    return ec2_backends[ACCOUNT][region]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotRequest:
    """What AWS keeps of a spot launch, and the provider compares at every plan."""

    id: str
    instance_id: str
    max_price: str
    type: str
    interruption_behavior: str
    valid_until: str

    def xml(self, state: str) -> str:
        until = f"<validUntil>{escape(self.valid_until)}</validUntil>" if self.valid_until else ""
        return (
            f"<item><spotInstanceRequestId>{self.id}</spotInstanceRequestId><instanceId>{self.instance_id}</instanceId>"
            f"<spotPrice>{escape(self.max_price)}</spotPrice><type>{escape(self.type)}</type><state>{state}</state>"
            # The provider takes a request without a status for none at all.
            f"<status><code>fulfilled</code><message>Your spot request is fulfilled.</message></status>"
            f"<instanceInterruptionBehavior>{escape(self.interruption_behavior)}</instanceInterruptionBehavior>"
            f"{until}</item>"
        )


@dataclass(slots=True, kw_only=True)
class Gaps:
    """The double's own memory beside moto's."""

    consoles: dict[str, str] = field(default_factory=dict)
    quotas: dict[str, float] = field(default_factory=dict)
    default_quotas: dict[str, float] = field(default_factory=dict)
    spot_requests: dict[str, SpotRequest] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)

    def clear(self) -> None:
        self.consoles.clear()
        self.quotas.clear()
        self.default_quotas.clear()
        self.spot_requests.clear()
        self.cancelled.clear()

    def before(self, call: WireCall) -> None:
        """Mend moto's state before it serves ``call``."""
        if (call.service, call.action) == ("iam", "AttachRolePolicy"):
            _add_aws_policy(call.params.get("PolicyArn", "").rpartition("/")[2])

    def answer(self, call: WireCall) -> Answer | None:
        """The answer to a call that moto should not see, ``None`` for one that it should."""
        answers: dict[tuple[str, str], Callable[[WireCall], Answer | None]] = {
            ("ec2", "GetConsoleOutput"): self._console,
            ("ec2", "DescribeSpotInstanceRequests"): self._spot_requests,
            ("ec2", "CancelSpotInstanceRequests"): self._cancel_spot,
            ("ssm", "GetParameter"): self._parameter,
            ("ssm", "GetParameters"): self._parameters,
            ("servicequotas", "GetServiceQuota"): self._quota,
            ("servicequotas", "GetAWSDefaultServiceQuota"): self._quota,
        }
        if call.service == "ec2" and call.params.get("DryRun") == "true":  # moto makes the thing for some calls
            message = "Request would have succeeded, but DryRun flag is set."
            return error_answer(call, code="DryRunOperation", message=message, status=412)
        find = answers.get((call.service, call.action))
        return find(call) if find else None

    def after(self, call: WireCall) -> None:
        """Mend moto's state after it has served ``call``."""
        if call.service != "ec2" or call.action not in ("RunInstances", "ModifyInstanceAttribute"):
            return
        spot = call.params.get("InstanceMarketOptions.MarketType") == "spot"
        for instance in moto_ec2(call.region).all_instances():
            if not instance.security_groups and instance.nics:
                # AWS shows the groups of the first interface as the instance's own. moto shows those that were given
                # without an interface, and none after any ModifyInstanceAttribute.
                instance.security_groups = list(instance.nics[0].group_set)
            if spot and instance.lifecycle == "spot" and not getattr(instance, "spot_instance_request_id", ""):
                self._remember_spot(instance, call)

    def _remember_spot(self, instance: Any, call: WireCall) -> None:
        options = {
            key.removeprefix("InstanceMarketOptions.SpotOptions."): value
            for key, value in call.params.items()
            if key.startswith("InstanceMarketOptions.SpotOptions.")
        }
        request = SpotRequest(
            id=f"sir-{uuid.uuid4().hex[:8]}",
            instance_id=instance.id,
            max_price=options.get("MaxPrice", ON_DEMAND_PRICE),
            type=options.get("SpotInstanceType", "one-time"),
            interruption_behavior=options.get("InstanceInterruptionBehavior", "terminate"),
            valid_until=options.get("ValidUntil", ""),
        )
        self.spot_requests[request.id] = request
        instance.spot_instance_request_id = request.id

    def _named_requests(self, call: WireCall) -> list[SpotRequest]:
        ids = {value for key, value in call.params.items() if key.startswith("SpotInstanceRequestId.")}
        return [request for request in self.spot_requests.values() if request.id in ids]

    def _spot_requests(self, call: WireCall) -> Answer | None:
        gone = {instance.id for instance in moto_ec2(call.region).all_instances() if instance.state == "terminated"}
        items = ""
        for request in self._named_requests(call):
            closed = "closed" if request.instance_id in gone else "active"
            items += request.xml("cancelled" if request.id in self.cancelled else closed)
        return xml_answer(call.action, f"<spotInstanceRequestSet>{items}</spotInstanceRequestSet>") if items else None

    def _cancel_spot(self, call: WireCall) -> Answer | None:
        ids = [request.id for request in self._named_requests(call)]
        self.cancelled.update(ids)
        items = "".join(
            f"<item><spotInstanceRequestId>{id_}</spotInstanceRequestId><state>cancelled</state></item>" for id_ in ids
        )
        return xml_answer(call.action, f"<spotInstanceRequestSet>{items}</spotInstanceRequestSet>") if items else None

    def _console(self, call: WireCall) -> Answer | None:
        instance_id = call.params.get("InstanceId", "")
        if instance_id not in {instance.id for instance in moto_ec2(call.region).all_instances()}:
            return None
        text = self.consoles.get(instance_id)
        output = "" if text is None else f"<output>{base64.b64encode(text.encode()).decode()}</output>"
        return xml_answer(call.action, f"<instanceId>{instance_id}</instanceId>{output}")

    def _parameter(self, call: WireCall) -> Answer | None:
        name = call.params.get("Name", "")
        return json_answer({"Parameter": _image_parameter(name, call.region)}) if _is_image(name) else None

    def _parameters(self, call: WireCall) -> Answer | None:
        names = json.loads(call.params.get("Names", "[]"))
        if not names or not all(map(_is_image, names)):
            return None
        parameters = [_image_parameter(name, call.region) for name in names]
        return json_answer({"Parameters": parameters, "InvalidParameters": []})

    def _quota(self, call: WireCall) -> Answer | None:
        code = call.params.get("QuotaCode", "")
        if call.params.get("ServiceCode") != "ec2":
            return None
        quotas = self.quotas if call.action == "GetServiceQuota" else self.default_quotas
        if code not in quotas:
            message = "The quota has no such value."
            return error_answer(call, code="NoSuchResourceException", message=message, status=400)
        return json_answer({"Quota": {"ServiceCode": "ec2", "QuotaCode": code, "Value": quotas[code]}})


def _add_aws_policy(name: str) -> None:
    from moto.iam.models import AWSManagedPolicy, iam_backends

    if name not in AWS_POLICIES:
        return
    day = "2019-03-15T00:00:00+00:00"
    data = {
        "DefaultVersionId": "v1",
        "Path": "/",
        "CreateDate": day,
        "UpdateDate": day,
        "Document": {"Version": "2012-10-17", "Statement": []},
    }
    policy = AWSManagedPolicy.from_data(name, ACCOUNT, "aws", data)
    iam_backends[ACCOUNT]["aws"].managed_policies[policy.arn] = policy


def _is_image(name: str) -> bool:
    return name.startswith(IMAGE_PARAMETERS)


def _image_parameter(name: str, region: str) -> dict[str, Any]:
    return {
        "Name": name,
        "Type": "String",
        "DataType": "text",
        "Version": 1,
        "Value": DEEP_LEARNING_IMAGE,
        "ARN": f"arn:aws:ssm:{region}::parameter{name}",
    }
