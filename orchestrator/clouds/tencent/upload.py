"""How a machine puts its status to COS with nothing but Python and its own role.

COS has a command of its own, which is in no public image. The signature is that of ``cos.py`` beside this file; here it
is written to be short, since user data has a limit of some KiB.
"""

from __future__ import annotations

__all__ = ["UPLOAD_COMMAND"]

# Metadata: www.tencentcloud.com/document/product/213/4934; credentials of the role: product/598/85616.
_SCRIPT = "; ".join(
    (
        "import hashlib,hmac,json,sys,time,urllib.parse as q,urllib.request as u",
        "f,r=sys.argv[1:]",
        'b,_,k=r[6:].partition("/")',
        'g=lambda p: u.urlopen("http://metadata.tencentyun.com/latest/meta-data/"+p,timeout=5).read().decode().strip()',
        'c="cam/security-credentials/"',
        "i=json.loads(g(c+g(c)))",
        'h=b+".cos."+g("placement/region")+".myqcloud.com"',
        "t=int(time.time())",
        'w="%d;%d"%(t-60,t+600)',
        's=lambda a,d: hmac.new(a.encode(),d.encode(),"sha1").hexdigest()',
        r'd=hashlib.sha1(("put\n/"+k+"\n\nhost="+h+"\n").encode()).hexdigest()',
        r'x=s(s(i["TmpSecretKey"],w),"sha1\n"+w+"\n"+d+"\n")',
        'a="q-sign-algorithm=sha1&q-ak="+i["TmpSecretId"]+"&q-sign-time="+w+"&q-key-time="+w'
        '+"&q-header-list=host&q-url-param-list=&q-signature="+x',
        'n={"Authorization":a,"x-cos-security-token":i["Token"]}',
        'u.urlopen(u.Request("https://"+h+"/"+q.quote(k),open(f,"rb").read(),n,method="PUT"),timeout=20)',
    )
)

UPLOAD_COMMAND = ("python3", "-c", _SCRIPT, "{file}", "{uri}")
