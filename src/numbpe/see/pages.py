"""Pages that are one file: everything inlined, nothing fetched, nothing run that is not ours.

Text from outside gets into a page in two ways: through :func:`escape`, or as packed data, which is
base64. A content security policy names the one script by its hash and forbids all connections, so
that a mistake in the first would still run nothing.
"""

import base64
import hashlib
import html
import json
import re
import string
import zlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

_MODULE_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def escape(text: str) -> str:
    """Return ``text`` so that HTML shows it as it is, in elements and in quoted attributes.

    >>> escape("<script>'\\"&")
    '&lt;script&gt;&#x27;&quot;&amp;'
    """
    return html.escape(text, quote=True)


def load_asset(name: str) -> str:
    """Return a file of the folder ``web``."""
    return (resources.files("numbpe.see") / "web" / name).read_text(encoding="utf-8")


def load_script(*names: str) -> str:
    """Return the modules ``names`` as one, without their imports of each other."""
    modules = [_MODULE_IMPORT.sub("", load_asset(name)) for name in names]
    script = _EXPORT.sub("", "\n".join(modules))
    if "</script" in script.lower():
        raise AssertionError("a script in a page must not hold its end tag")
    return script


def pack(data: Any) -> str:
    """Return data as deflated JSON in base64, which holds nothing that HTML could mistake."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode("ascii")


def fill_page(script: str, parts: Mapping[str, str]) -> str:
    """Return a page: ``page.html`` with the style, the policy, ``script`` and ``parts``.

    parts: HTML of the title, the body and the models; what came from outside is escaped in it.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    fixed = {"policy": policy, "script": script, "style": load_asset("page.css")}
    return string.Template(load_asset("page.html")).substitute(fixed | dict(parts))
