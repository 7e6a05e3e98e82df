"""mcp_client.py HONE PROBLEM: talk to `hone mcp` by the real client of the package `mcp`, in each era that it speaks.

The package checks every answer against its own types; with HONE_MCP_SCHEMA=DIR, which holds schema-2025-11-25.json and
schema-2026-07-28.json as the protocol publishes them, raw answers are checked against these too (package jsonschema).
Exit status 77 where the package is not installed."""
import asyncio
import json
import os
import pathlib
import subprocess
import sys

try:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client
except ImportError:
    print("no package mcp")
    sys.exit(77)

hone, problem = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def said(result):
    return "".join(c.text for c in result.content)


async def talk(session):
    tools = (await session.list_tools()).tools
    names = {t.name for t in tools}
    assert {"check", "import", "sol", "eval", "optimize", "runs", "show", "findings", "emit", "export"} <= names, names
    assert "ok: problem" in said(await session.call_tool("check", {"problem": problem}))
    sol = await session.call_tool("sol", {"problem": problem, "target": "h200", "format": "json"})
    document = getattr(sol, "structured_content", None) or getattr(sol, "structuredContent", None)
    assert document["schema"] == "hone.sol/1", sol
    wrong = await session.call_tool("check", {"problem": "/etc/passwd"})
    assert getattr(wrong, "is_error", None) or getattr(wrong, "isError", None), wrong
    resources = (await session.list_resources()).resources
    assert any(str(r.uri) == "hone://docs/language" for r in resources)
    page = await session.read_resource(resources[0].uri)
    assert "problem" in page.contents[0].text
    prompt = await session.get_prompt("optimize", {"problem": problem})
    assert problem in prompt.messages[0].content.text
    many = await asyncio.gather(*(session.call_tool("check", {"problem": problem}) for _ in range(50)))
    assert all("ok: problem" in said(r) for r in many)
    await measure(session)
    return len(tools)


async def measure(session):
    """A search that is cancelled once it tells of progress, and then a verdict: it comes only when the search is gone,
    since what measures runs one at a time."""
    small = {"problem": problem, "dim": "M=16,N=16"}
    told = asyncio.Event()

    async def progress(done, total, message):
        told.set()

    search = asyncio.create_task(session.call_tool("optimize", {**small, "seconds": 300}, progress_callback=progress))
    await asyncio.wait_for(told.wait(), 60)
    search.cancel()
    await asyncio.gather(search, return_exceptions=True)
    verdict = await asyncio.wait_for(session.call_tool("eval", {**small, "candidate": "plain", "seconds": 1}), 100)
    assert "plain: ok" in said(verdict), said(verdict)


async def roots(context):
    return mcp.types.ListRootsResult(roots=[mcp.types.Root(uri=pathlib.Path(problem).parent.as_uri())])


# The problem is not under the working directory: only the client's roots admit it.
server = StdioServerParameters(command=hone, args=["mcp"], cwd="/usr")


async def legacy():
    """Begins with initialize; gives its roots when it is asked."""
    async with stdio_client(server) as (read, write):
        async with mcp.ClientSession(read, write, list_roots_callback=roots) as session:
            await session.initialize()
            print("legacy:", await talk(session), "tools")


async def modern():
    """Each request says its version (from release 2 of the package on); the roots come with the second try."""
    if not hasattr(mcp, "Client"):
        print("modern: this release of the package does not speak it")
        return
    for mode in ("2026-07-28", "auto"):
        async with mcp.Client(server, mode=mode, list_roots_callback=roots) as client:
            print(f"{mode}:", await talk(client), "tools")


def raw(requests):
    """The answers to these requests, by id."""
    text = "".join(json.dumps(r) + "\n" for r in requests)
    out = subprocess.run([hone, "mcp", os.path.dirname(problem)], input=text, capture_output=True, text=True, check=True)
    return {m.get("id"): m for m in map(json.loads, out.stdout.splitlines())}


def schemas(folder):
    import jsonschema

    results = {"tools/list": "ListToolsResult", "resources/list": "ListResourcesResult", "prompts/list": "ListPromptsResult",
               "resources/templates/list": "ListResourceTemplatesResult", "tools/call": "CallToolResult",
               "resources/read": "ReadResourceResult", "prompts/get": "GetPromptResult", "initialize": "InitializeResult",
               "server/discover": "DiscoverResult"}
    params = {"tools/call": {"name": "check", "arguments": {"problem": problem, "format": "json"}},
              "resources/read": {"uri": "hone://docs/families"}, "prompts/get": {"name": "explain", "arguments": {"node": "1.0"}},
              "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}
    for version in ("2025-11-25", "2026-07-28"):
        with open(os.path.join(folder, f"schema-{version}.json")) as f:
            schema = json.load(f)
        is_modern = version == "2026-07-28"
        methods = [m for m in results if m != ("initialize" if is_modern else "server/discover")]
        methods.sort(key=lambda m: m != "initialize")
        meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}}
        requests = [{"jsonrpc": "2.0", "id": m, "method": m, "params": {**params.get(m, {}), **(meta if is_modern else {})}}
                    for m in methods]
        requests.append({"jsonrpc": "2.0", "id": "no", "method": "nothing"})
        answers = raw(requests)
        for method in methods:
            jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/" + results[method]}).validate(answers[method]["result"])
        jsonschema.Draft202012Validator({**schema, "$ref": "#/$defs/JSONRPCErrorResponse"}).validate(answers["no"])
        print("schema", version, "holds for", len(methods), "methods")


asyncio.run(legacy())
asyncio.run(modern())
if os.environ.get("HONE_MCP_SCHEMA"):
    schemas(os.environ["HONE_MCP_SCHEMA"])
