import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createMcpResource, createMcpTool } from "parley-mcp";
import { z } from "zod";
import { type PostOptions, TASKS, TestClient, VERSION } from "../../support/modern/client.ts";
import { serving } from "../../support/modern/server.ts";
import { echo, greet } from "../../support/tools.ts";
import { describe, it } from "../../suite.ts";

const P = "io.modelcontextprotocol/";

const routed = createMcpTool("routed").description("Is routed by its parameters")
  .parameters(z.object({
    region: z.string().meta({ "x-mcp-header": "Region" }).optional(),
    shard: z.object({ number: z.int().meta({ "x-mcp-header": "Shard" }).optional() }).optional(),
    dry: z.boolean().meta({ "x-mcp-header": "Dry" }).optional(),
  }))
  .execute(function* (params) {
    return JSON.stringify(params);
  });

const sampler = createMcpTool("sampler").description("Needs a model")
  .requires({ sampling: true, elicitation: "url", roots: true })
  .execute(function* () {
    return "ran";
  });

const umlaut = createMcpResource("Grüße").uri("test://grüße").read(function* () {
  return "Grüße";
});

const serve = [echo, greet, routed, sampler, umlaut];

function testing(body: (client: TestClient) => Promise<void>): () => Promise<void> {
  return () => serving({ serve }, ({ fetch }) => body(new TestClient(fetch)));
}

interface Refusal {
  readonly method?: string;
  readonly params?: { readonly [key: string]: unknown };
  readonly options: PostOptions;
  readonly status: number;
  readonly code: number;
}

async function refuses(client: TestClient, refusal: Refusal): Promise<void> {
  const { method = "tools/list", params = {}, options, status, code } = refusal;
  const exchange = await client.start(method, params, options);
  const said = JSON.stringify(refusal);
  const [message] = await exchange.rest();
  assert.equal(message?.id, exchange.id, said);
  assert.equal(message?.error?.code, code, `${said}: ${JSON.stringify(message)}`);
  assert.equal(exchange.status, status, said);
}

const call = { method: "tools/call", params: { name: "echo", arguments: { text: "x" } } };

describe("the MCP-Protocol-Version header", () => {
  it(
    "must be present and match the body, before anything else is checked",
    testing(async (client) => {
      for (const version of [null, "2025-11-25", "v999.0.0", "", "2026-07-28 "]) {
        const headers = { "mcp-protocol-version": version, "mcp-method": "wrong" };
        if (version?.trim() === VERSION) continue;
        await refuses(client, { options: { headers }, status: 400, code: -32020 });
      }
      const meta = { [`${P}protocolVersion`]: "v999.0.0" };
      await refuses(client, { options: { meta }, status: 400, code: -32020 });
    }),
  );

  it(
    "must name a supported revision; otherwise the error lists them",
    testing(async (client) => {
      const { supportedVersions } = await client.result("server/discover");
      for (const version of ["v999.0.0", "2025-11-25", "1900-01-01", "2099-01-01"]) {
        const headers = { "mcp-protocol-version": version };
        // The server does not know what else another revision requires.
        const meta = {
          [`${P}protocolVersion`]: version,
          [`${P}clientCapabilities`]: undefined,
        };
        const exchange = await client.start("tools/list", {}, { headers, meta });
        assert.equal(exchange.status, 400);
        const [message] = await exchange.rest();
        assert.equal(message?.error.code, -32022);
        assert.deepEqual(message?.error.data, { supported: supportedVersions, requested: version });
      }
    }),
  );
});

describe("the metadata of a request", () => {
  it(
    "must be complete",
    testing(async (client) => {
      const wrong: object[] = [
        { [`${P}protocolVersion`]: undefined },
        { [`${P}clientCapabilities`]: undefined },
        { [`${P}clientCapabilities`]: "all" },
        { [`${P}clientInfo`]: 1 },
        { [`${P}logLevel`]: "shout" },
      ];
      for (const meta of wrong) {
        await refuses(client, { options: { meta }, status: 400, code: -32602 });
      }
      const headers = { "mcp-protocol-version": VERSION, "mcp-method": "tools/list" };
      for (const params of [undefined, {}, { _meta: null }]) {
        const body = { jsonrpc: "2.0", id: "m", method: "tools/list", params };
        const response = await client.post(body, headers);
        assert.equal(response.status, 400);
        assert.equal((await response.json()).error.code, -32602);
      }
    }),
  );

  it(
    "need not identify the client",
    testing(async (client) => {
      const meta = { [`${P}clientInfo`]: undefined };
      assert.ok(await client.result("tools/list", {}, { meta }));
    }),
  );
});

describe("the Mcp-Method header", () => {
  it(
    "must match the body",
    testing(async (client) => {
      for (const method of [null, "", "prompts/list", "TOOLS/LIST", "tools/list, tools/list"]) {
        const headers = { "mcp-method": method };
        await refuses(client, { options: { headers }, status: 400, code: -32020 });
      }
    }),
  );

  it(
    "is checked before the method is looked up",
    testing(async (client) => {
      const headers = { "mcp-method": "tools/list" };
      await refuses(client, {
        method: "un/known",
        options: { headers },
        status: 400,
        code: -32020,
      });
    }),
  );
});

describe("the Mcp-Name header", () => {
  it(
    "must match the body",
    testing(async (client) => {
      for (const name of [null, "", "greet", "ECHO", "=?base64?ZWNobw?=", "=?base64?!!?="]) {
        const headers = { "mcp-name": name };
        await refuses(client, { ...call, options: { headers }, status: 400, code: -32020 });
      }
      const headers = { "mcp-name": "task-2" };
      const params = { taskId: "task-1" };
      const options = { headers };
      await refuses(client, { method: "tasks/get", params, options, status: 400, code: -32020 });
    }),
  );

  it(
    "may be encoded, and surrounded by white space",
    testing(async (client) => {
      for (const name of ["=?base64?ZWNobw==?=", "  echo\t", "echo"]) {
        const options = { headers: { "mcp-name": name } };
        assert.ok(await client.result(call.method, call.params, options));
      }
      const name = `=?base64?${Buffer.from("test://grüße").toString("base64")}?=`;
      const read = await client.result("resources/read", { uri: "test://grüße" }, {
        headers: { "mcp-name": name },
      });
      assert.equal(read.contents[0].text, "Grüße");
    }),
  );
});

describe("the Mcp-Param headers", () => {
  const params = (args: object) => ({ name: "routed", arguments: args });

  it(
    "must match the arguments",
    testing(async (client) => {
      const wrong: [object, Record<string, string>][] = [
        [{ region: "eu" }, {}],
        [{ region: "eu" }, { "mcp-param-region": "us" }],
        [{ region: "eu" }, { "mcp-param-region": "=?base64?ZXU?=" }],
        [{ region: null }, { "mcp-param-region": "eu" }],
        [{}, { "mcp-param-region": "eu" }],
        [{ shard: { number: 7 } }, {}],
        [{ shard: { number: 7 } }, { "mcp-param-shard": "8" }],
        [{ dry: false }, {}],
        [{ dry: true }, { "mcp-param-dry": "false" }],
        [{ region: { toString: 1 } }, { "mcp-param-region": "x" }],
      ];
      for (const [args, headers] of wrong) {
        const options = { headers };
        await refuses(client, {
          method: "tools/call",
          params: params(args),
          options,
          status: 400,
          code: -32020,
        });
      }
    }),
  );

  it(
    "are accepted if they match",
    testing(async (client) => {
      const args = { region: "Süd", shard: { number: 7 }, dry: true };
      const headers = {
        "Mcp-Param-Region": "=?base64?U8O8ZA==?=",
        "MCP-PARAM-SHARD": "7.0",
        "mcp-param-dry": "true",
        "mcp-param-other": "forwarded by somebody",
      };
      const result = await client.result("tools/call", params(args), { headers });
      assert.deepEqual(JSON.parse(result.content[0].text), args);
      assert.ok(await client.result("tools/call", params({})));
    }),
  );

  it(
    "are named in the tool's schema",
    testing(async (client) => {
      const { tools } = await client.result("tools/list");
      // deno-lint-ignore no-explicit-any
      const { inputSchema } = tools.find(({ name }: any) => name === "routed");
      assert.equal(inputSchema.properties.region["x-mcp-header"], "Region");
    }),
  );
});

describe("a method", () => {
  it(
    "that is not supported gets 404 with -32601, including legacy and invalid methods",
    testing(async (client) => {
      const methods = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "roots/list",
        "tasks/list",
        "tasks/result",
        "unknown/method",
        "unknown",
        "",
        "constructor",
        "toString",
        "__proto__",
        "hasOwnProperty/x",
        // Nothing of that kind is offered here.
        "prompts/list",
        "prompts/get",
        "completion/complete",
      ];
      for (const method of methods) {
        const options = method === "prompts/get" ? { headers: { "mcp-name": "x" } } : {};
        const params = method === "prompts/get" ? { name: "x" } : {};
        await refuses(client, { method, params, options, status: 404, code: -32601 });
      }
    }),
  );
});

describe("a capability that a tool requires", () => {
  it("that the client lacks is named, with 400, before the tool runs", async () => {
    await serving({ serve }, async ({ fetch }) => {
      const cases: [object, object][] = [
        [{}, { sampling: {}, elicitation: { url: {} }, roots: {} }],
        [{ sampling: {}, elicitation: {} }, { elicitation: { url: {} }, roots: {} }],
        [{ sampling: {}, elicitation: { url: {} } }, { roots: {} }],
      ];
      for (const [capabilities, requiredCapabilities] of cases) {
        const client = new TestClient(fetch, { capabilities });
        const exchange = await client.start("tools/call", { name: "sampler" });
        assert.equal(exchange.status, 400);
        const [message] = await exchange.rest();
        assert.equal(message?.error.code, -32021);
        assert.deepEqual(message?.error.data, { requiredCapabilities });
      }
    });
  });

  it("that is not declared as required ends the call as isError when it is needed", async () => {
    await serving({ serve, doors: ["form"] }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: {} });
      const result = await client.call("greet");
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /test client does not support elicitation/);
    });
  });

  it("is checked before a task is looked up", async () => {
    await serving({ serve }, async ({ fetch }) => {
      const client = new TestClient(fetch, { capabilities: {} });
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const { code, data } = await client.error(method, { taskId: "x" });
        assert.equal(code, -32021);
        assert.deepEqual(data.requiredCapabilities, { extensions: { [TASKS]: {} } });
      }
    });
  });
});
