import assert from "node:assert/strict";
import fc from "fast-check";
import {
  claimedVersion,
  claimsModern,
  declaresTasks,
  readMeta,
  type RequestMeta,
} from "../../../src/wire/modern/meta.ts";
import { describe, it } from "../../suite.ts";

const P = "io.modelcontextprotocol/";
const least = { [`${P}protocolVersion`]: "2026-07-28", [`${P}clientCapabilities`]: {} };

function read(more: object = {}): RequestMeta {
  const meta = readMeta({ _meta: { ...least, ...more } });
  assert.ok(!("problem" in meta), JSON.stringify(meta));
  return meta;
}

describe("claimsModern()", () => {
  it("checks for a version in the metadata, whatever its value", () => {
    assert.equal(claimsModern({ _meta: least }), true);
    assert.equal(claimsModern({ _meta: { [`${P}protocolVersion`]: 5 } }), true);
    for (const params of [undefined, null, [], {}, { _meta: 1 }, { _meta: { progressToken: 1 } }]) {
      assert.equal(claimsModern(params), false);
    }
  });
});

describe("readMeta()", () => {
  it("reads what a client says about itself", () => {
    const meta = read({
      [`${P}clientInfo`]: { name: "c", version: "1", title: "C" },
      [`${P}clientCapabilities`]: { elicitation: { form: {} }, roots: { listChanged: true }, x: 1 },
      [`${P}logLevel`]: "notice",
      progressToken: "p",
    });
    assert.deepEqual(meta, {
      version: "2026-07-28",
      client: {
        name: "c",
        version: "1",
        protocolVersion: "2026-07-28",
        capabilities: { elicitation: { form: {} }, roots: { listChanged: true }, x: 1 },
      },
      logLevel: "notice",
      progressToken: "p",
      trace: {},
    });
  });

  it("accepts missing optional fields", () => {
    const { client, logLevel, progressToken, trace } = read();
    assert.deepEqual(client, { protocolVersion: "2026-07-28", capabilities: {} });
    assert.deepEqual([logLevel, progressToken, trace], [undefined, undefined, {}]);
  });

  it("says which field is missing or wrong", () => {
    const wrong: [unknown, RegExp][] = [
      [undefined, /_meta/],
      [[], /_meta/],
      [{ [`${P}clientCapabilities`]: {} }, /protocolVersion/],
      [{ ...least, [`${P}protocolVersion`]: 1 }, /protocolVersion/],
      [{ [`${P}protocolVersion`]: "2026-07-28" }, /clientCapabilities/],
      [{ ...least, [`${P}clientCapabilities`]: [] }, /clientCapabilities/],
      [{ ...least, [`${P}clientInfo`]: "me" }, /clientInfo/],
      [{ ...least, [`${P}logLevel`]: "loud" }, /logLevel/],
      [{ ...least, [`${P}logLevel`]: "constructor" }, /logLevel/],
      [{ ...least, [`${P}logLevel`]: null }, /logLevel/],
    ];
    for (const [_meta, problem] of wrong) {
      const meta = readMeta({ _meta });
      assert.ok("problem" in meta, JSON.stringify(_meta));
      assert.match(meta.problem, problem);
    }
  });

  it("accepts only objects as declarations", () => {
    const { client } = read({
      [`${P}clientCapabilities`]: {
        elicitation: { form: null, url: true },
        sampling: null,
        roots: true,
        extensions: { [`${P}tasks`]: null, "com.example/x": {} },
      },
    });
    assert.deepEqual(client.capabilities, {
      elicitation: {},
      extensions: { "com.example/x": {} },
    });
    assert.equal(declaresTasks(client), false);
  });

  it("passes on the trace context", () => {
    const trace = { traceparent: "00-a-b-01", tracestate: "x=1", baggage: "y=2" };
    assert.deepEqual(read(trace).trace, trace);
    assert.deepEqual(read({ traceparent: 1, baggage: null }).trace, {});
  });

  it("never throws, whatever it gets", () => {
    const keys = fc.constantFrom(
      `${P}protocolVersion`,
      `${P}clientCapabilities`,
      `${P}clientInfo`,
      `${P}logLevel`,
      "progressToken",
      "traceparent",
    );
    fc.assert(fc.property(fc.dictionary(keys, fc.jsonValue()), (_meta) => {
      const meta = readMeta({ _meta });
      assert.equal(typeof ("problem" in meta ? meta.problem : meta.version), "string");
    }));
  });
});

describe("claimedVersion()", () => {
  it("returns a text or nothing", () => {
    assert.equal(claimedVersion({ _meta: least }), "2026-07-28");
    assert.equal(claimedVersion({ _meta: { [`${P}protocolVersion`]: 1 } }), undefined);
    assert.equal(claimedVersion({}), undefined);
  });
});
