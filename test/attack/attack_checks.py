"""Checks of the API that an OpenAPI document cannot state, and requests that reach what the stores have.

schemathesis loads this module. ATTACK_FACTS names the role of the caller, what it may not do, and ids of the stores.
"""

import atexit
import json
import os
import re
import threading
import zlib
from collections import Counter
from urllib.parse import urlsplit

import requests
import schemathesis

FACTS = json.loads(os.environ["ATTACK_FACTS"])
BULK = ("purge", "discard", "release", "assign", "export")
PLANS = ("/api/v1/replays", "/api/v1/replays/preview")
# Other fields of a plan select hardly any letter when they are random, and a plan without letters is refused.
PLAIN = ("reason", "perSecond", "stages", "needsApproval")
MOST_IDS = 300
# Of four values that were generated for an id, three are replaced by ids that exist.
REAL_IN_FOUR = 3

lock = threading.Lock()
statuses = Counter()
accepted = Counter()
cursors = {}


def operation_of(case):
    return f"{case.operation.method.upper()} {case.operation.path}"


def is_same_operation(response, case):
    """Whether the server sees this operation: a generated method or path can be that of another one, or of none."""
    path = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(case.operation.path))
    sent = urlsplit(response.request.url).path
    return response.request.method == case.operation.method.upper() and re.fullmatch(path, sent) is not None


def expected_refusal(case):
    """The status that this role gets for this operation; None if the role may use it."""
    raw = case.operation.definition.raw
    refused = FACTS["refused"]
    if refused == "everything":
        return 401 if raw.get("security") else None
    action = raw.get("x-lazaret-action")
    if action is None:
        return None
    return 403 if refused == "changes" or action in refused else None


@schemathesis.check
def role_boundary(ctx, response, case):
    """What the role may not do is refused, whatever else is wrong with the request."""
    if not is_same_operation(response, case):
        assert response.status_code >= 400 or case.operation.method.upper() == "GET", (
            f"{response.request.method} {response.request.url} is no operation and answers {response.status_code}"
        )
        return
    expected = expected_refusal(case)
    if expected is None:
        assert response.status_code not in (401, 403), (
            f"{FACTS['role']} gets {response.status_code} for {operation_of(case)}, and may use it"
        )
    else:
        assert response.status_code == expected, (
            f"{FACTS['role']} gets {response.status_code} for {operation_of(case)}, not {expected}"
        )


@schemathesis.check
def hidden_secret(ctx, response, case):
    """No answer has a masked value. A reveal is the one operation that may show it."""
    if case.operation.path.endswith("/reveal") and FACTS["role"] in ("operator", "admin"):
        return
    assert FACTS["secret"].encode() not in response.content, f"{operation_of(case)} shows a masked value"


def pick(seed, values):
    """One of the values, always the same for the same seed, so that a failure can be repeated."""
    return values[zlib.crc32(repr(seed).encode("utf-8", "replace")) // 4 % len(values)]


def is_replaced(seed):
    return zlib.crc32(repr(seed).encode("utf-8", "replace")) % 4 < REAL_IN_FOUR


def real_id(path, name, seed):
    kind = path.split("/")[3] if path.startswith("/api/v1/") else ""
    values = FACTS["ids"].get(kind if name == "id" else name)
    return pick(seed, values) if values and is_replaced(seed) else seed


def with_preview(case, body, headers):
    """The body with the count, time and digest of a preview: without them a bulk action never begins."""
    url = f"{FACTS['url']}{case.operation.path}/preview"
    known = {name: body[name] for name in ("filter", "store") if name in body}
    answer = requests.post(url, json=known, headers=headers, timeout=30)
    if answer.status_code != 200:
        return body
    preview = answer.json()
    return {**body, "expectedCount": preview["count"], "until": preview["until"], "digest": preview["digest"]}


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    for name, value in list(case.path_parameters.items()):
        case.path_parameters[name] = real_id(path, name, value)
    if "cursor" in case.query and is_replaced(case.query["cursor"]):
        with lock:
            known = cursors.get(path)
        if known is not None:
            case.query["cursor"] = known
    if isinstance(case.body, dict):
        body = dict(case.body)
        if isinstance(body.get("ids"), list) and body["ids"] and is_replaced(body["ids"]):
            body["ids"] = [pick((index, body["ids"]), FACTS["ids"]["dead-letters"]) for index in range(len(body["ids"]))]
        if "store" in body and isinstance(body["store"], str) and is_replaced(body["store"]):
            body["store"] = pick(body["store"], FACTS["stores"])
        if isinstance(body.get("channel"), str) and is_replaced(body["channel"]):
            body["channel"] = pick(body["channel"], FACTS["ids"]["channel"])
        if path in PLANS and is_replaced(body):
            body = {"filter": {}, "store": pick(body, FACTS["stores"]), **{name: body[name] for name in PLAIN if name in body}}
        if path.split("/")[-1] in BULK and "digest" in body and expected_refusal(case) is None and is_replaced(body):
            body = with_preview(case, body, FACTS["headers"])
        if body != case.body:
            case.body = body


def remember(path, answer):
    """Keeps cursors and new ids of an answer for later requests."""
    if not isinstance(answer, dict):
        return
    if isinstance(answer.get("cursor"), str):
        cursors[path] = answer["cursor"]
    new = {
        "dead-letters": [letter["id"] for letter in answer.get("letters", []) if isinstance(letter, dict)]
        if path == "/api/v1/dead-letters"
        else [],
        "replays": [answer["id"]] if path == "/api/v1/replays" and "id" in answer else [],
        "request": [request["id"] for request in answer.get("requests", [])] if path == "/api/v1/fleet/commands" else [],
    }
    for kind, ids in new.items():
        known = FACTS["ids"].setdefault(kind, [])
        known.extend(each for each in ids if each not in known)
        del known[:-MOST_IDS]


@schemathesis.hook
def after_call(context, case, response):
    with lock:
        statuses[str(response.status_code)] += 1
        if 200 <= response.status_code < 300:
            accepted[operation_of(case)] += 1
        if response.status_code in (200, 201) and response.headers.get("content-type") == ["application/json"]:
            remember(case.operation.path, json.loads(response.content))


@atexit.register
def write_counts():
    with open(FACTS["counts"], "w", encoding="utf-8") as file:
        json.dump({"statuses": statuses, "accepted": accepted}, file)
