"""How a machine puts its status to OSS with nothing but Python and its own role.

OSS has a command of its own, which is in no public image. The signature is that of ``oss.py`` beside this file; here it
is written to be short, since user data has a limit of some KiB. The bucket has to be in the machine's region.
"""

from __future__ import annotations

__all__ = ["UPLOAD_COMMAND"]

# Metadata with tokens, and the credentials of the role:
# help.aliyun.com/zh/ecs/user-guide/view-instance-metadata (100.100.100.200, X-aliyun-ecs-metadata-token).
_SCRIPT = "; ".join(
    (
        "import hashlib,hmac,json,sys,time,urllib.parse as q,urllib.request as u",
        "f,r=sys.argv[1:]",
        'b,_,k=r[6:].partition("/")',
        'm="http://100.100.100.200/latest/"',
        "o=lambda *a,**w: u.urlopen(u.Request(*a,**w),timeout=9).read().decode().strip()",
        't="X-aliyun-ecs-metadata-token"',
        't={t:o(m+"api/token",headers={t+"-ttl-seconds":"60"},method="PUT")}',
        'g=lambda p: o(m+"meta-data/"+p,headers=t)',
        'c="ram/security-credentials/"',
        "i=json.loads(g(c+g(c).split()[0]))",
        'z=g("region-id")',
        'd=time.strftime("%Y%m%dT%H%M%SZ",time.gmtime())',
        'p="/"+b+"/"+q.quote(k)',
        'n={"x-oss-content-sha256":"UNSIGNED-PAYLOAD","x-oss-date":d,"x-oss-security-token":i["SecurityToken"]}',
        r's="PUT\n"+p+"\n\ncontent-type:text/plain\n"+"".join(h+":"+n[h]+"\n" for h in n)+"\n\nUNSIGNED-PAYLOAD"',
        'e=[d[:8],z,"oss","aliyun_v4_request"]',
        'y=("aliyun_v4"+i["AccessKeySecret"]).encode()',
        'v=lambda y,x: hmac.new(y,x.encode(),"sha256")',
        "[y:=v(y,x).digest() for x in e]",
        r's="OSS4-HMAC-SHA256\n"+d+"\n"+"/".join(e)+"\n"+hashlib.sha256(s.encode()).hexdigest()',
        'n["Content-Type"]="text/plain"',
        'e=[i["AccessKeyId"],*e]',
        'n["Authorization"]="OSS4-HMAC-SHA256 Credential="+"/".join(e)+",Signature="+v(y,s).hexdigest()',
        'o("https://"+b+".oss-"+z+".aliyuncs.com/"+q.quote(k),open(f,"rb").read(),n,method="PUT")',
    )
)

UPLOAD_COMMAND = ("python3", "-c", _SCRIPT, "{file}", "{uri}")
