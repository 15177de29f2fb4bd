"""The clouds on a laptop, simulated: real Terraform, real schemas, and one file in the place of the clouds.

Terraform runs as always; ``install`` lays out stand-in providers (``provider``) that serve each cloud's real schema and
act on a simulated cloud (``cloud``). ``machines`` is that cloud's API, ``boot`` what a machine's console plays. Nothing
of it makes, runs or measures anything real.
"""
