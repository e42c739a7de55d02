// deno-lint-ignore-file no-explicit-any
import assert from "node:assert/strict";
import { createMcpTool, type FinalizedMcpTool } from "parley-mcp";
import { z } from "zod";
import { describe, it } from "../suite.ts";
import { ABLE, TestClient } from "../support/legacy/client.ts";
import { serving } from "../support/legacy/server.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { serving as servingModern } from "../support/modern/server.ts";

const UI = "io.modelcontextprotocol/ui";
const TYPE = "text/html;profile=mcp-app";
const ASK = "ui://parley/ask.html";

const APPS = { extensions: { [UI]: { mimeTypes: [TYPE] } } };
const FORMS_AND_APPS = { ...ABLE, ...APPS };
const DRAWN_FORMS = {
  ...ABLE,
  extensions: { [UI]: { mimeTypes: [TYPE], elicitation: {} } },
};

const tool = (name: string) => createMcpTool(name).description("A tool");
const asks = { seat: { response: z.object({ seat: z.string() }) } };

const plain = tool("plain").execute(function* () {});
const asking = tool("asking").elicits(asks).execute(function* (_params, ctx) {
  const { action } = yield* ctx.elicit("seat", { message: "Which seat?" });
  return action;
});
const secretive = tool("secretive")
  .elicits({ pin: { response: z.object({ pin: z.string() }), sensitive: ["pin"] } })
  .execute(function* (_params, ctx) {
    return (yield* ctx.elicit("pin", { message: "PIN?" })).action;
  });
const chart = tool("chart").view({
  html: "<!doctype html><p>chart</p>",
  csp: { connectDomains: ["https://data.example"] },
  permissions: { clipboardWrite: {} },
  domain: "chart.example",
  prefersBorder: true,
}).execute(function* () {});
const board = tool("board").elicits(asks).view("<p>board</p>").execute(function* (_params, ctx) {
  return (yield* ctx.elicit("seat", { message: "Which seat?" })).action;
});
let loads = 0;
const lazy = tool("lazy").view(() => {
  loads++;
  return loads === 1 ? Promise.reject(new Error("no such file")) : Promise.resolve({
    default: "<p>lazy</p>",
  });
}).execute(function* () {});
const refresh = tool("refresh").visibility("app").execute(function* () {
  return "fresh";
});

const serve = [plain, asking, chart, board, lazy, refresh];

interface Asked {
  readonly capabilities: object;
  request(method: string, params?: object): Promise<{ result?: any; error?: any }>;
}

/** Asks a server with these tools as a client of each era. */
async function inBothEras(
  tools: readonly FinalizedMcpTool[],
  capabilities: object,
  body: (client: Asked, era: "legacy" | "modern") => Promise<void> | void,
): Promise<void> {
  await serving({ serve: [...tools] }, async ({ fetch, faults }) => {
    const client = await TestClient.connect(fetch, { capabilities });
    const initialized = await (await new TestClient(fetch).post({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities,
        clientInfo: { name: "x", version: "1" },
      },
    })).json();
    await body({
      capabilities: initialized.result.capabilities,
      request: (method, params = {}) => client.request(method, params),
    }, "legacy");
    faults.length = 0;
  });
  await servingModern({ serve: [...tools] }, async ({ fetch, faults }) => {
    const client = new ModernClient(fetch, { capabilities });
    const discovered = await client.result("server/discover");
    await body({
      capabilities: discovered.capabilities,
      request: (method, params = {}) => client.request(method, params as never),
    }, "modern");
    faults.length = 0;
  });
}

/** `_meta` of the listed tools, by name. */
async function listed(client: Asked) {
  const { result } = await client.request("tools/list");
  const tools: { name: string; _meta?: { ui?: object } }[] = result.tools;
  const shown = tools.filter(({ name }) => serve.some((one) => one.name === name));
  return {
    ...Object.fromEntries(shown.map(({ name, _meta }) => [name, _meta?.ui])),
    caching: result.cacheScope,
  };
}

describe("the views of tools", () => {
  it("are listed for clients with MCP Apps; views for questions only without forms", async () => {
    const own = { resourceUri: "ui://parley/tools/chart.html" };
    const always = {
      plain: undefined,
      chart: own,
      lazy: { resourceUri: "ui://parley/tools/lazy.html" },
      refresh: { visibility: ["app"] },
    };
    for (const capabilities of [{}, ABLE, FORMS_AND_APPS]) {
      await inBothEras(serve, capabilities, async (client, era) => {
        assert.deepEqual(await listed(client), {
          ...always,
          asking: undefined,
          board: undefined,
          caching: era === "modern" ? "private" : undefined,
        });
      });
    }
    await inBothEras(serve, APPS, async (client, era) => {
      assert.deepEqual(await listed(client), {
        ...always,
        asking: { resourceUri: ASK },
        board: { resourceUri: "ui://parley/tools/board.html" },
        caching: era === "modern" ? "private" : undefined,
      });
    });
  });

  it("leave lists that are the same for all clients to shared caches", () =>
    servingModern({ serve: [plain, chart] }, async ({ fetch }) => {
      const { cacheScope } = await new ModernClient(fetch).result("tools/list");
      assert.equal(cacheScope, "public");
    }));

  it("are read with their type and with what they ask of the host", () =>
    inBothEras(serve, APPS, async (client) => {
      const read = async (uri: string) =>
        (await client.request("resources/read", { uri })).result.contents;
      assert.deepEqual(await read("ui://parley/tools/chart.html"), [{
        uri: "ui://parley/tools/chart.html",
        mimeType: TYPE,
        text: "<!doctype html><p>chart</p>",
        _meta: {
          ui: {
            csp: { connectDomains: ["https://data.example"] },
            permissions: { clipboardWrite: {} },
            domain: "chart.example",
            prefersBorder: true,
          },
        },
      }]);
      const [ask] = await read(ASK);
      assert.equal(ask.mimeType, TYPE);
      assert.deepEqual(ask._meta, { ui: { csp: {} } });
      assert.match(ask.text, /^<!doctype html>/);
      assert.ok(ask.text.length < 30_000, `${ask.text.length} characters`);
      for (
        const uri of ["ui://parley/tools/plain.html", "ui://parley/x", "ui://parley/tools/%.html"]
      ) {
        assert.ok((await client.request("resources/read", { uri })).error);
      }
    }));

  it("of a module are loaded on first use, and again after a failure", async () => {
    loads = 0;
    await inBothEras([lazy], APPS, async (client, era) => {
      assert.equal(loads, era === "legacy" ? 0 : 2);
      const uri = "ui://parley/tools/lazy.html";
      if (era === "legacy") assert.ok((await client.request("resources/read", { uri })).error);
      for (let reads = 0; reads < 2; reads++) {
        const { result } = await client.request("resources/read", { uri });
        assert.equal(result.contents[0].text, "<p>lazy</p>");
      }
      assert.equal(loads, 2);
    });
  });

  it("are no resources that clients list, and need nothing from others", async () => {
    await inBothEras(serve, APPS, async (client) => {
      assert.deepEqual((await client.request("resources/list")).result.resources, []);
      assert.deepEqual((client.capabilities as any).extensions[UI], { elicitation: {} });
      assert.deepEqual((client.capabilities as any).resources, {});
    });
    await inBothEras(serve, ABLE, (client) => {
      assert.equal("extensions" in client.capabilities, false);
      assert.equal("resources" in client.capabilities, false);
    });
    await inBothEras([plain], APPS, (client) => {
      assert.equal("resources" in client.capabilities, false);
    });
  });

  it("can call tools that only views may call; other clients cannot", async () => {
    await inBothEras(serve, APPS, async (client) => {
      const { result } = await client.request("tools/call", { name: "refresh", arguments: {} });
      assert.equal(result.content[0].text, "fresh");
    });
    await inBothEras(serve, ABLE, async (client) => {
      const { result, error } = await client.request("tools/call", {
        name: "refresh",
        arguments: {},
      });
      assert.ok(error ?? result.isError);
      assert.match(JSON.stringify(error ?? result), /modelcontextprotocol\/ui/);
    });
  });

  it("draw forms for clients that declare it (SEP-3118), but never secrets", async () => {
    const formOf = async (name: string, capabilities: object) => {
      let meta: object | undefined;
      await serving({ serve: [asking, board, secretive] }, async ({ fetch }) => {
        const client = await TestClient.connect(fetch, { capabilities });
        const call = await client.call(name);
        const request = await call.expect("elicitation/create");
        meta = request.params._meta;
        await client.answer(request, { action: "decline" });
        await call.rest();
      });
      await servingModern({ serve: [asking, board, secretive] }, async ({ fetch }) => {
        const client = new ModernClient(fetch, { capabilities });
        const { inputRequests } = await client.result("tools/call", { name, arguments: {} });
        const [request] = Object.values(inputRequests) as any[];
        assert.deepEqual(request.params._meta, meta);
      });
      return meta;
    };
    assert.deepEqual(await formOf("asking", DRAWN_FORMS), { ui: { resourceUri: ASK } });
    assert.deepEqual(await formOf("board", DRAWN_FORMS), {
      ui: { resourceUri: "ui://parley/tools/board.html" },
    });
    assert.equal(await formOf("asking", FORMS_AND_APPS), undefined);
    assert.equal(await formOf("asking", { ...DRAWN_FORMS, elicitation: {} }), undefined);
    const ui = { mimeTypes: ["text/html"], elicitation: {} };
    assert.equal(await formOf("asking", { ...ABLE, extensions: { [UI]: ui } }), undefined);
  });
});

describe("createMcpTool().view()", () => {
  it("refuses a view without HTML, and a visibility that does not exist", () => {
    for (const view of ["", " ", { html: "" }, {}, null]) {
      assert.throws(() => tool("x").view(view as never).execute(function* () {}), {
        code: "PARLEY_DEFINITION",
      });
    }
    for (const who of [[], ["host"]]) {
      assert.throws(() => tool("x").visibility(...who as []).execute(function* () {}), {
        code: "PARLEY_DEFINITION",
      });
    }
  });
});
