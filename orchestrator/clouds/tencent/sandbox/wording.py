"""How the genuine provider words a refused call: the error of Tencent's SDK as it is.

Seen in reports on the provider, such as github.com/HXSecurity/TerraformGoat/issues/101 and
github.com/tencentcloudstack/terraform-provider-tencentcloud/issues/376.
"""

from __future__ import annotations

import uuid

from orchestrator.clouds.rules import CallRefused, Problem

__all__ = ["problem", "refused"]


def problem(code: str, message: str) -> Problem:
    return Problem(summary=f"[TencentCloudSDKError] Code={code}, Message={message}, RequestId={uuid.uuid4()}")


def refused(code: str, message: str) -> CallRefused:
    return CallRefused(problem(code, message).summary)
