// deno-lint-ignore-file no-explicit-any
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createMcpSkill, createMcpTool, type ParleyOptions } from "parley-mcp";
import { TestIssuer } from "../auth/issuer.ts";
import { describe, it } from "../suite.ts";
import { TestClient } from "../support/legacy/client.ts";
import { serving } from "../support/legacy/server.ts";
import { TestClient as ModernClient } from "../support/modern/client.ts";
import { serving as servingModern } from "../support/modern/server.ts";

const SKILLS = "io.modelcontextprotocol/skills";

const cakes = createMcpSkill("order-cakes")
  .description("How to order a cake: use it for cakes.")
  .frontmatter({ license: "MIT", metadata: { author: "bakery" } })
  .file("references/sizes.md", "# Sizes")
  .file("references/deep/colors.json", "[]")
  .file("assets/cake.png", new Uint8Array([0x89, 0x50, 0, 0xff]))
  .instructions("Ask for the number of guests.");
const plain = createMcpSkill("plain").description("Plain.").instructions("Do it.");

interface Asked {
  readonly capabilities: any;
  request(method: string, params?: object): Promise<{ result?: any; error?: any }>;
}

async function inBothEras(
  options: ParleyOptions,
  body: (client: Asked, era: "legacy" | "modern") => Promise<void> | void,
): Promise<void> {
  await serving(options, async ({ fetch }) => {
    const client = await TestClient.connect(fetch, {});
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    };
    const raw = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const { result } = await (await new TestClient(fetch).post(raw)).json();
    const request = (method: string, params = {}) => client.request(method, params);
    await body({ capabilities: result.capabilities, request }, "legacy");
  });
  await servingModern(options, async ({ fetch }) => {
    const client = new ModernClient(fetch);
    const { capabilities } = await client.result("server/discover");
    const request = (method: string, params = {}) => client.request(method, params as never);
    await body({ capabilities, request }, "modern");
  });
}

const sha = (bytes: Uint8Array | string) =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

describe("skills", () => {
  it("are declared, listed with digests, and got one by one", () =>
    inBothEras({ serve: [cakes, plain] }, async ({ capabilities, request }, era) => {
      assert.deepEqual(capabilities.extensions, { [SKILLS]: { directoryRead: true } });
      assert.ok(capabilities.resources);
      const { result } = await request("skills/list");
      assert.deepEqual(result.skills.map(({ uri }: any) => uri), [
        "skill://order-cakes/SKILL.md",
        "skill://plain/SKILL.md",
      ]);
      const [skill] = result.skills;
      assert.deepEqual(skill.frontmatter, {
        name: "order-cakes",
        description: "How to order a cake: use it for cakes.",
        license: "MIT",
        metadata: { author: "bakery" },
      });
      const main = cakes.files[0]!;
      assert.deepEqual(skill.resources, [
        { uri: main.uri, digest: sha(main.bytes), size: main.bytes.length },
        { uri: "skill://order-cakes/references/sizes.md", digest: sha("# Sizes"), size: 7 },
        { uri: "skill://order-cakes/references/deep/colors.json", digest: sha("[]"), size: 2 },
        {
          uri: "skill://order-cakes/assets/cake.png",
          digest: sha(new Uint8Array([0x89, 0x50, 0, 0xff])),
          size: 4,
        },
      ]);
      const got = (await request("skills/get", { uri: skill.uri })).result;
      assert.deepEqual(got.skill, skill);
      for (const list of [result, got]) {
        assert.equal(list.ttlMs, era === "modern" ? 60_000 : undefined);
        assert.equal(list.cacheScope, era === "modern" ? "public" : undefined);
      }
      for (const uri of ["skill://other/SKILL.md", "skill://order-cakes/", 5, undefined]) {
        assert.equal((await request("skills/get", { uri })).error.code, -32602);
      }
    }));

  it("have files that are read as resources, of which only SKILL.md is listed", () =>
    inBothEras({ serve: [cakes, plain] }, async ({ request }) => {
      const read = async (uri: string) => (await request("resources/read", { uri })).result;
      const [main] = (await read("skill://order-cakes/SKILL.md")).contents;
      assert.equal(main.mimeType, "text/markdown");
      assert.equal(
        main.text,
        '---\nname: "order-cakes"\ndescription: "How to order a cake: use it for cakes."\nlicense: "MIT"\n' +
          'metadata: {"author":"bakery"}\n---\n\nAsk for the number of guests.\n',
      );
      assert.deepEqual((await read("skill://order-cakes/assets/cake.png")).contents, [
        { uri: "skill://order-cakes/assets/cake.png", mimeType: "image/png", blob: "iVAA/w==" },
      ]);
      const { resources } = (await request("resources/list")).result;
      assert.deepEqual(resources[0], {
        uri: "skill://order-cakes/SKILL.md",
        name: "order-cakes",
        description: "How to order a cake: use it for cakes.",
        mimeType: "text/markdown",
        size: cakes.files[0]!.size,
      });
      assert.equal(resources.length, 2);
      for (
        const uri of [
          "skill://order-cakes/../plain/SKILL.md",
          "skill://order-cakes/references/%2e%2e/SKILL.md",
          "skill://order-cakes/SKILL.md/",
          "skill://order-cakes//SKILL.md",
          "skill:///etc/passwd",
        ]
      ) {
        assert.ok((await request("resources/read", { uri })).error, uri);
      }
    }));

  it("have folders that are listed one level at a time, in pages", () =>
    inBothEras({ serve: [cakes], limits: { pageSize: 2 } }, async ({ request }) => {
      const list = async (uri: unknown, cursor?: string) =>
        await request("resources/directory/read", { uri, ...(cursor && { cursor }) });
      const first = (await list("skill://order-cakes")).result;
      assert.deepEqual(first.resources.map(({ name, mimeType }: any) => [name, mimeType]), [
        ["SKILL.md", "text/markdown"],
        ["references", "inode/directory"],
      ]);
      const second = (await list("skill://order-cakes", first.nextCursor)).result;
      assert.deepEqual(second.resources, [
        { uri: "skill://order-cakes/assets", name: "assets", mimeType: "inode/directory" },
      ]);
      assert.equal(second.nextCursor, undefined);
      const below = (await list("skill://order-cakes/references/")).result.resources;
      assert.deepEqual(below.map(({ uri }: any) => uri), [
        "skill://order-cakes/references/sizes.md",
        "skill://order-cakes/references/deep",
      ]);
      for (
        const uri of [
          "skill://order-cakes/SKILL.md",
          "skill://order-cakes/refer",
          "skill://",
          "skill:",
          "",
          7,
          undefined,
        ]
      ) {
        assert.equal((await list(uri)).error?.code, -32602, String(uri));
      }
    }));

  it("do not exist on a server without skills", () => {
    const tool = createMcpTool("a").description("A.").execute(function* () {});
    return inBothEras({ serve: [tool] }, async ({ capabilities, request }) => {
      assert.equal(capabilities.extensions, undefined);
      for (const method of ["skills/list", "skills/get", "resources/directory/read"]) {
        assert.equal((await request(method, { uri: "skill://a" })).error.code, -32601);
      }
    });
  });

  it("can be added and removed while the server runs, and clients are told", () =>
    serving({ serve: [plain] }, async ({ parley, fetch }) => {
      const client = await TestClient.connect(fetch, {});
      const stream = await client.listen();
      parley.add(cakes);
      await stream.expect("notifications/resources/list_changed");
      assert.throws(() => parley.add(cakes), /Cannot define skill "order-cakes": its name is/);
      assert.equal(parley.remove("skill", "plain"), true);
      assert.equal(parley.remove("skill", "plain"), false);
      await stream.expect("notifications/resources/list_changed");
      const { result } = await client.request("skills/list", {});
      assert.deepEqual(result.skills.map(({ uri }: any) => uri), ["skill://order-cakes/SKILL.md"]);
    }));

  it("need their scopes, and hidden ones do not exist without them", async () => {
    const guarded = createMcpSkill("guarded").description("Guarded.").scopes("bakery")
      .instructions("x");
    const hidden = createMcpSkill("hidden").description("Hidden.")
      .scopes("bakery", { hidden: true }).instructions("x");
    const issuer = await TestIssuer.create();
    const parley = issuer.server({}, { serve: [plain, guarded, hidden] });
    try {
      const with_ = async (scope: string) => {
        const authorization = `Bearer ${await issuer.token({ claims: { scope } })}`;
        const client = new ModernClient(parley.fetch);
        return async (method: string, params: object = {}) => {
          const { response, message } = await posted(client, method, params, authorization);
          return { status: response.status, ...message };
        };
      };
      const without = await with_("other");
      const names = ({ result }: any) =>
        result.skills.map(({ frontmatter }: any) => frontmatter.name);
      assert.deepEqual(names(await without("skills/list")), ["plain", "guarded"]);
      for (
        const [method, uri] of [
          ["skills/get", "skill://guarded/SKILL.md"],
          ["resources/read", "skill://guarded/SKILL.md"],
          ["resources/directory/read", "skill://guarded"],
        ] as const
      ) {
        assert.equal((await without(method, { uri })).status, 403, method);
      }
      for (
        const [method, uri] of [
          ["skills/get", "skill://hidden/SKILL.md"],
          ["resources/read", "skill://hidden/SKILL.md"],
          ["resources/directory/read", "skill://hidden"],
        ] as const
      ) {
        assert.equal((await without(method, { uri })).error.code, -32602, method);
      }
      const allowed = await with_("bakery");
      const list = await allowed("skills/list");
      assert.deepEqual(names(list), ["plain", "guarded", "hidden"]);
      assert.equal(list.result.cacheScope, "private");
      const uri = "skill://hidden/SKILL.md";
      assert.equal((await allowed("skills/get", { uri })).result.skill.uri, uri);
    } finally {
      await parley.close();
    }
  });
});

/** Posts a request with a token, and reads the response whatever its status. */
async function posted(
  client: ModernClient,
  method: string,
  params: object,
  authorization: string,
): Promise<{ response: Response; message: any }> {
  const name = (params as { uri?: string }).uri;
  const response = await client.post(
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: client.meta() } },
    {
      authorization,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(method === "resources/read" && name && { "mcp-name": name }),
    },
  );
  const text = await response.text();
  return { response, message: text.startsWith("{") ? JSON.parse(text) : {} };
}
