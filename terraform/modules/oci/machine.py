#!/bin/sh
# fmt: off
''':'
exec "$(command -v python3 || echo /usr/libexec/platform-python)" "$0" "$@"
'''
# ruff: noqa
# What a machine on Oracle Cloud does for itself, as the instance that it is and without any key of a user:
#   (nothing)      install this file, the unit that ends the machine with its power-off, and the whole boot disk
#   put FILE URI   copy a small file to oci://bucket@namespace[.region]/name
#   terminate      terminate this instance, with its disk
#   end            the same if the system is powering off. A stopped one with GPUs is billed like a running one.
# Python 3.6 is what the oldest images have, so nothing newer is used, and openssl signs.
import base64, email.utils, hashlib, json, os, re, shutil, subprocess, sys, tempfile, time
import urllib.error, urllib.parse, urllib.request

METADATA = os.environ.get("OCI_METADATA_BASE_URL", "http://169.254.169.254/opc/v2")
ENDPOINT = os.environ.get("GPUORCH_ENDPOINT", "https://{service}.{region}.{domain}")
ROOT = os.environ.get("GPUORCH_ROOT", "")
HERE = "/usr/local/lib/gpuorch/cloud"
UNIT = """[Unit]
Description=gpuorch: end this machine for good when it powers off
Wants=network-online.target
After=network-online.target nss-lookup.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/sh %s end
TimeoutStopSec=10min

[Install]
WantedBy=multi-user.target
""" % HERE


def http(url, method="GET", headers=None, body=None):
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()


def metadata(path):
    return http(METADATA + path, headers={"Authorization": "Bearer Oracle"}).decode()


def openssl(*words, text=b""):
    done = subprocess.run(("openssl",) + words, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return done.stdout


def bare(pem):
    return "".join(line for line in pem.splitlines() if not line.startswith("-----"))


class Instance:
    def __init__(self, folder):
        self.facts = json.loads(metadata("/instance/"))
        self.key = os.path.join(folder, "key.pem")
        self.key_id = self.token()

    def endpoint(self, service, region=""):
        info = self.facts["regionInfo"]
        region = region or info["regionIdentifier"]
        return ENDPOINT.format(service=service, region=region, domain=info["realmDomainComponent"])

    def token(self):
        """A token for a key made now, in exchange for a call that the instance's own certificate signs."""
        certificate = metadata("/identity/cert.pem")
        self.save(metadata("/identity/key.pem").encode())
        session = openssl("genrsa", "2048")
        body = {
            "certificate": bare(certificate),
            "publicKey": bare(openssl("rsa", "-pubout", text=session).decode()),
            "intermediateCertificates": [bare(metadata("/identity/intermediate.pem"))],
        }
        digest = hashlib.sha1(base64.b64decode(bare(certificate))).hexdigest().upper()
        self.key_id = "%s/fed-x509/%s" % (self.facts["tenantId"], ":".join(re.findall("..", digest)))
        url = self.endpoint("auth") + "/v1/x509"
        answer = self.call("POST", url, json.dumps(body).encode(), host=False)
        self.save(session)
        return "ST$" + json.loads(answer.decode())["token"]

    def save(self, key):
        with open(self.key, "wb") as file:
            file.write(key)

    def call(self, method, url, body=None, host=True):
        """One signed call: docs.oracle.com/iaas/Content/API/Concepts/signingrequests.htm"""
        parts = urllib.parse.urlsplit(url)
        target = "%s %s" % (method.lower(), parts.path + ("?" + parts.query if parts.query else ""))
        signed = [("date", email.utils.formatdate(usegmt=True)), ("(request-target)", target)]
        signed += [("host", parts.netloc)] if host else []
        if body is not None:
            signed.append(("content-length", str(len(body))))
            signed.append(("content-type", "application/json"))
            signed.append(("x-content-sha256", base64.b64encode(hashlib.sha256(body).digest()).decode()))
        text = "\n".join("%s: %s" % pair for pair in signed).encode()
        signature = base64.b64encode(openssl("dgst", "-sha256", "-sign", self.key, text=text)).decode()
        headers = {name: value for name, value in signed if name[0] != "("}
        headers["authorization"] = 'Signature version="1",keyId="%s",algorithm="rsa-sha256",headers="%s",signature="%s"' % (
            self.key_id, " ".join(name for name, _ in signed), signature)
        return http(url, method, headers, body)

    def put(self, file, uri):
        match = re.match(r"oci://([^@/]+)@([^@/.]+)(?:\.([^@/]+))?/(.+)", uri)
        bucket, namespace, region, name = match.groups()
        path = "/n/%s/b/%s/o/%s" % tuple(urllib.parse.quote(part, safe="") for part in (namespace, bucket, name))
        with open(file, "rb") as content:
            self.call("PUT", self.endpoint("objectstorage", region or "") + path, content.read())

    def terminate(self):
        url = "%s/20160918/instances/%s?preserveBootVolume=false" % (self.endpoint("iaas"), self.facts["id"])
        try:
            self.call("DELETE", url)
        except urllib.error.HTTPError as error:
            if error.code != 409:  # it is being terminated already
                raise


def powering_off():
    jobs = subprocess.run(("systemctl", "list-jobs", "--no-legend"), stdout=subprocess.PIPE).stdout.decode()
    return re.search(r"\b(poweroff|halt)\.target\s+start", jobs) is not None


def end(pause=15, tries=30):
    if not powering_off():
        return
    for left in reversed(range(tries)):
        try:
            with tempfile.TemporaryDirectory() as folder:
                return Instance(folder).terminate()
        except Exception as error:
            print("this machine could not be terminated: %s" % error, flush=True)
        time.sleep(pause if left else 0)
    sys.exit(1)


def install():
    here = ROOT + HERE
    os.makedirs(os.path.dirname(here), exist_ok=True)
    shutil.copyfile(os.path.abspath(sys.argv[0]), here)
    os.chmod(here, 0o755)
    with open(ROOT + "/etc/systemd/system/gpuorch-end.service", "w") as file:
        file.write(UNIT)
    subprocess.call(("systemctl", "enable", "--now", "--no-block", "gpuorch-end.service"))
    grow = ROOT + "/usr/libexec/oci-growfs"
    if os.access(grow, os.X_OK):  # Oracle Linux leaves what a boot disk has beyond its image unused
        subprocess.call((grow, "-y"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["put"]:
        with tempfile.TemporaryDirectory() as folder:
            Instance(folder).put(*sys.argv[2:4])
    elif sys.argv[1:2] == ["terminate"]:
        with tempfile.TemporaryDirectory() as folder:
            Instance(folder).terminate()
    elif sys.argv[1:2] == ["end"]:
        end()
    else:
        install()
