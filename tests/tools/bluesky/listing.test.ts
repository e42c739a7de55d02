/** What tools/list shows, word for word where callers depend on it. */
import assert from "node:assert/strict";
import { describe, it } from "../../suite.ts";
import { login, profile, search } from "../../../tools/bluesky.ts";
import { TestClient } from "../../support/legacy/client.ts";
import { serving } from "../../support/legacy/server.ts";

interface Schema {
  readonly type?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

interface Listed {
  readonly name: string;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema;
}

/** The schema without the texts for people. */
function bare(schema: Schema): unknown {
  const { description: _, $schema: __, properties, items, ...rest } = schema;
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, one]) => [name, bare(one)]),
      ),
    }),
    ...(items && { items: bare(items) }),
  };
}

async function listed(): Promise<Listed[]> {
  let tools: Listed[] = [];
  await serving({ serve: [login, profile, search] }, async ({ fetch }) => {
    const client = await TestClient.connect(fetch);
    const { result } = await client.request("tools/list");
    tools = result.tools;
  });
  return tools;
}

const string = { type: "string" };
const integer = { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 };

describe("tools/list", () => {
  it("shows three tools, and none for accounts or logout", async () => {
    assert.deepEqual((await listed()).map(({ name }) => name), [
      "login",
      "profile",
      "search",
      "continue_call",
      "answer_call",
    ]);
  });

  it("shows their parameters", async () => {
    const [login, profile, search] = (await listed()).map(({ inputSchema }) => bare(inputSchema));
    assert.deepEqual(login, {
      type: "object",
      properties: {
        command: { type: "string", enum: ["login", "list", "default", "delete"], default: "login" },
        handle: string,
        password: string,
        service: string,
        port: { type: "integer", minimum: 1, maximum: 65_535 },
        method: { type: "string", enum: ["oauth", "page", "app-password"] },
      },
    });
    assert.deepEqual(profile, { type: "object", properties: { account: string } });
    const { properties, required, type } = search as Schema;
    assert.deepEqual([type, required], ["object", ["query"]]);
    assert.deepEqual(Object.keys(properties!), [
      "account",
      "query",
      "limit",
      "author",
      "since",
      "until",
      "sort",
      "cursor",
    ]);
    const { limit, sort, query } = properties!;
    assert.deepEqual(limit, { type: "integer", minimum: 1, maximum: 100, default: 20 });
    assert.deepEqual(sort, { type: "string", enum: ["top", "latest"] });
    assert.deepEqual(query, { type: "string", minLength: 1 });
  });

  it("shows their results", async () => {
    // A call of a tool that asks may end with a deferral instead of its own result.
    const [login, profile, search] = (await listed()).slice(0, 3).map(({ outputSchema }) =>
      bare((outputSchema as { anyOf?: Schema[] } | undefined)?.anyOf?.[0] ?? outputSchema) as Schema
    );
    assert.deepEqual(login!.required, ["message", "accounts"]);
    assert.deepEqual(Object.keys(login!.properties!), [
      "message",
      "accounts",
      "default",
      "signedIn",
      "warning",
      "link",
    ]);
    assert.deepEqual(Object.keys(login!.properties!["accounts"]!.items!.properties!), [
      "did",
      "handle",
      "service",
      "method",
      "default",
      "signedIn",
      "mainPassword",
    ]);
    assert.deepEqual(profile!.properties, {
      did: string,
      handle: string,
      displayName: string,
      avatar: string,
      url: string,
      description: string,
      banner: string,
      followers: integer,
      follows: integer,
      posts: integer,
      createdAt: string,
      indexedAt: string,
      markdown: string,
    });
    assert.deepEqual(search!.required, ["account", "query", "posts", "markdown"]);
    const post = search!.properties!["posts"]!.items!;
    assert.deepEqual(post.required, [
      "uri",
      "cid",
      "url",
      "author",
      "text",
      "languages",
      "facets",
      "embeds",
      "counts",
      "indexedAt",
    ]);
    assert.deepEqual(Object.keys(post.properties!["embeds"]!.items!.properties!), [
      "type",
      "url",
      "thumbnail",
      "alt",
      "title",
      "description",
      "uri",
      "author",
      "text",
      "unavailable",
    ]);
  });

  it("names one type for each value, as form builders need", async () => {
    assert.doesNotMatch(JSON.stringify(await listed()), /"type":\[|"type":"null"/);
  });

  it("mentions no prompt ids or texts to insert", async () => {
    assert.doesNotMatch(JSON.stringify(await listed()), /prompt_id|input_text/);
  });
});
