import assert from "node:assert/strict";
import { ensure, type Operation, until } from "effection";
import type { Buffer } from "node:buffer";
import { readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { createMcpTool, type Parley, type ParleyOptions } from "parley-mcp";
import { z } from "zod";
import {
  type AuditLog,
  type AuditOptions,
  useAuditLog,
} from "../../../src/cli/commands/audit-log.ts";
import { OperatorLog } from "../../../src/cli/log.ts";
import { ISSUER, RESOURCE, TestIssuer } from "../../auth/issuer.ts";
import { root } from "../../harness/files.ts";
import { useFolder } from "../../support/folder.ts";
import { ABLE, TestClient as LegacyClient } from "../../support/legacy/client.ts";
import { TestClient } from "../../support/modern/client.ts";
import { useProgram } from "../../support/program.ts";
import { describe, it } from "../../suite.ts";

describe("parley serve --audit-log", () => {
  it("notes who called what and how it ended, without arguments or results", function* () {
    const folder = yield* useFolder();
    const file = join(folder, "audit.jsonl");
    const tools = join(root, "tests/transport/stdio/tools.ts");
    const program = yield* useProgram(["serve", tools, "--port", "0", "--audit-log", file]);
    const [url] = yield* until(program.says(/http:\/\/127\.0\.0\.1:\d+\/mcp/));
    const client = new TestClient((request) => fetch(request), { url });
    yield* until(client.request("tools/call", { name: "echo", arguments: { text: "s3cret" } }));
    const text = readFileSync(file, "utf8");
    assert.ok(!text.includes("s3cret"));
    const lines = text.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ event }) => event), ["called", "ended"]);
    const [called, ended] = lines;
    assert.equal(called.kind, "tool");
    assert.equal(called.session, ended.session);
    assert.equal(ended.principal, "");
    assert.ok(ended.outcome && typeof ended.ms === "number" && Date.parse(ended.time) > 0);
    if (process.platform !== "win32") assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("has no data unless it is asked for, and needs a file for that", function* () {
    const program = yield* useProgram(["serve", "--port", "0", "--audit-data"]);
    assert.equal((yield* until(program.exit)).code, 2);
    assert.match(program.stderr, /Cannot use --audit-data/);
  });

  it("that cannot be written stops the server from starting", function* () {
    const program = yield* useProgram(["serve", "--port", "0", "--audit-log", "/nowhere/audit"]);
    assert.equal((yield* until(program.exit)).code, 1);
    assert.match(program.stderr, /Cannot write the audit log/);
  });
});

const book = createMcpTool("book").description("Books.").scopes("book")
  .parameters(z.object({ to: z.string(), apiKey: z.string().optional() }))
  .elicits({
    pay: { response: z.object({ card: z.string(), note: z.string() }), sensitive: ["card"] },
  })
  .execute(function* (_, ctx) {
    const { action } = yield* ctx.elicit("pay", { message: "Pay?" });
    return `${action} with s3cret-result`;
  });
const page = createMcpTool("page").description("Opens a page.").execute(function* (_, ctx) {
  const { url } = yield* ctx.usePage({
    stays: 600_000,
    *respond() {
      return new Response("A page");
    },
  });
  return url;
});
const ANSWER = { pay: { action: "accept", content: { card: "4111", note: "thanks" } } };

interface Audited {
  readonly issuer: TestIssuer;
  readonly audit: AuditLog;
  readonly told: string[];
  headers(scope?: string): Promise<{ authorization: string }>;
  text(): string;
  lines(): Entry[];
}

type Entry = { readonly [name: string]: unknown };

function* useAudited(
  options: AuditOptions = {},
  limits: ParleyOptions["limits"] = {},
): Operation<Audited & { parley: Parley }> {
  const file = join(yield* useFolder(), "audit.jsonl");
  const told: string[] = [];
  const log = new OperatorLog({ level: "info", format: "json", write: (line) => told.push(line) });
  const issuer = yield* until(TestIssuer.create());
  const now = () => new Date(issuer.clock.now());
  const audit = yield* useAuditLog(file, log, { now, ...options });
  const parley = issuer.server({ scopes: ["mcp"], onRefused: audit.refused }, {
    serve: [book, page],
    use: [audit.middleware],
    onAnswer: audit.answered,
    onCall: audit.ended,
    formPasswords: true,
    limits,
  });
  yield* ensure(() => until(parley.close()));
  return {
    issuer,
    parley,
    audit,
    told,
    async headers(scope = "mcp book") {
      return { authorization: `Bearer ${await issuer.token({ claims: { scope } })}` };
    },
    text: () => readFileSync(file, "utf8"),
    lines: () =>
      readFileSync(file, "utf8").trim().split("\n").filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
}

const ALICE = `${ISSUER}|user|alice`;

describe("the audit log", () => {
  it("notes who answered what, through which door, in both eras", function* () {
    const { parley, headers, lines } = yield* useAudited();
    const given = yield* until(headers());
    const modern = new TestClient(parley.fetch, { headers: given });
    const params = { name: "book", arguments: { to: "s3cret-place" } };
    const { requestState } = yield* until(modern.call("book", params.arguments));
    yield* until(
      modern.request("tools/call", { ...params, requestState, inputResponses: ANSWER }),
    );
    const legacy = yield* until(
      LegacyClient.connect(parley.fetch, { headers: given, capabilities: ABLE }),
    );
    const call = yield* until(legacy.call("book", params.arguments));
    const asked = yield* until(call.expect("elicitation/create"));
    yield* until(legacy.answer(asked, { action: "decline" }));
    yield* until(call.text());
    const events = lines().map(({ event, action, via, by, question, asked }) =>
      event === "answered" ? { event, action, via, by, question, asked } : event
    );
    const answered = {
      event: "answered",
      via: "form",
      by: ALICE,
      question: "pay",
      asked: "person",
    };
    assert.deepEqual(events, [
      "called",
      { ...answered, action: "accept" },
      "ended",
      "called",
      { ...answered, action: "decline" },
      "ended",
    ]);
    assert.ok(!/s3cret|4111|thanks/.test(JSON.stringify(lines())));
  });

  it("notes refusals: no token, a wrong one, a missing scope, too many requests", function* () {
    const { parley, issuer, headers, lines } = yield* useAudited({}, { maxRequestsPerMinute: 2 });
    const call = async (given: { authorization?: string }) => {
      const client = new TestClient(parley.fetch, { headers: given });
      const exchange = await client.start("tools/call", { name: "book", arguments: { to: "x" } });
      await exchange.response.text();
      return exchange.status;
    };
    const wrong = yield* until(issuer.token({ claims: { aud: "https://other.example" } }));
    const weak = yield* until(headers("mcp"));
    const none = yield* until(headers("other"));
    const statuses = [];
    for (const given of [{}, { authorization: `Bearer ${wrong}` }, none, weak, weak, weak]) {
      statuses.push(yield* until(call(given)));
    }
    assert.deepEqual(statuses, [401, 401, 403, 403, 403, 429]);
    const refused = lines().map(({ event, status, principal, name }) =>
      [event, status, principal, name].filter((part) => part !== undefined).join(" ")
    );
    assert.deepEqual(refused, [
      "refused 401",
      "refused 401",
      `refused 403 ${ALICE}`,
      `refused 403 ${ALICE} book`,
      `refused 403 ${ALICE} book`,
      `refused 429 ${ALICE}`,
    ]);
    assert.ok(!JSON.stringify(lines()).includes(wrong));
  });

  it("notes visits to the page of another caller", function* () {
    const { parley, issuer, lines } = yield* useAudited();
    const tokens = yield* until(
      Promise.all(["alice", "bob"].map((sub) => issuer.token({ claims: { sub } }))),
    );
    const [alice, bob] = tokens.map((token) => ({ authorization: `Bearer ${token}` }));
    const { content } = yield* until(
      new TestClient(parley.fetch, { headers: alice! }).call("page"),
    );
    const visit = (headers = {}) => parley.fetch(new Request(content[0].text, { headers }));
    for (const headers of [{}, bob]) {
      yield* until(visit(headers).then((response) => response.text()));
    }
    const refused = lines().filter(({ event }) => event === "refused");
    assert.deepEqual(refused.map(({ status, principal }) => [status, principal]), [
      [401, undefined],
      [403, `${ISSUER}|user|bob`],
    ]);
    // The URL of a page gives access to it.
    assert.ok(!JSON.stringify(refused).includes(new URL(content[0].text).pathname));
  });

  it("writes a limited number of refusals in a minute, and says how many are missing", function* () {
    const { parley, issuer, lines } = yield* useAudited();
    const probe = () => parley.fetch(new Request(RESOURCE, { method: "POST" }));
    for (let i = 0; i < 200; i++) yield* until(probe().then((response) => response.text()));
    assert.equal(lines().length, 120);
    issuer.clock.advance(60_000);
    yield* until(probe().then((response) => response.text()));
    assert.equal(lines().length, 121);
    assert.equal(lines().at(-1)!.omitted, 80);
  });

  it("has arguments and answers if that is asked for, without secrets", function* () {
    const { parley, headers, lines } = yield* useAudited({ hasData: true });
    const modern = new TestClient(parley.fetch, { headers: yield* until(headers()) });
    const args = { to: "Rome", apiKey: "s3cret-key" };
    const { requestState } = yield* until(modern.call("book", args));
    yield* until(
      modern.request("tools/call", {
        name: "book",
        arguments: args,
        requestState,
        inputResponses: ANSWER,
      }),
    );
    const [called, answered] = lines();
    assert.deepEqual(called!.arguments, { to: "Rome", apiKey: "***" });
    const { content } = answered!.answer as { content: { note: string } };
    assert.equal(content.note, "thanks");
    assert.ok(!/s3cret|4111/.test(JSON.stringify(lines())));
  });

  it("has short lines, whatever is sent", function* () {
    const { parley, headers, lines, audit } = yield* useAudited({ hasData: true });
    const modern = new TestClient(parley.fetch, { headers: yield* until(headers()) });
    yield* until(modern.call("book", { to: "x".repeat(100_000) }));
    yield* until(modern.call("book", { to: "x", apiKey: '"'.repeat(100_000) }));
    const many = Array.from({ length: 50 }, () => "y".repeat(1_000));
    audit.answered({
      kind: "tool",
      toolName: "book",
      sessionId: "s",
      client: { capabilities: {} },
      principal: ALICE,
      question: "pay",
      asked: "person",
      response: { action: "accept", content: { many } },
    });
    const all = lines();
    assert.equal((all[0]!.arguments as { to: string }).to.length, 2_001);
    assert.equal(all.at(-1)!.omitted, "the data is too long");
    assert.equal(all.at(-1)!.action, "accept");
    for (const line of all) assert.ok(JSON.stringify(line).length <= 16_384);
  });

  it("continues if the disk is full, tells the operator once, and says what is missing", function* () {
    let room = Infinity;
    const write = (handle: number, text: Buffer) => {
      const bytes = Math.min(text.length, room);
      room -= bytes;
      if (bytes === 0) throw new Error("ENOSPC: no space left on device");
      return writeSync(handle, text, 0, bytes);
    };
    const { audit, told, lines, text } = yield* useAudited({ write });
    const refuse = () => audit.refused({ status: 401, reason: "no token", isOutage: false });
    refuse();
    room = 10;
    for (let i = 0; i < 3; i++) refuse();
    assert.equal(told.length, 1);
    assert.match(told[0]!, /cannot write the audit log/);
    room = Infinity;
    assert.throws(lines, SyntaxError, "a line is incomplete");
    refuse();
    refuse();
    const written = text().split("\n").filter(Boolean);
    assert.equal(written.length, 4);
    assert.equal(JSON.parse(written[2]!).lost, 3);
    assert.equal(JSON.parse(written[3]!).lost, undefined);
  });
});
