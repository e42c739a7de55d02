import assert from "node:assert/strict";
import {
  isInRange,
  isLoopbackAddress,
  parseAddress,
  parseRange,
} from "../../src/lib/ip-address.ts";
import { describe, it } from "../suite.ts";

describe("parseAddress()", () => {
  it("reads IPv4, IPv6, and IPv4 inside of IPv6 as the same address", () => {
    const mapped = [...Array(10).fill(0), 255, 255, 192, 0, 2, 1];
    for (
      const text of ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201", "0:0:0:0:0:ffff:c000:201"]
    ) {
      assert.deepEqual([...parseAddress(text) ?? []], mapped, text);
    }
    assert.deepEqual([...parseAddress("2001:db8::1")!].slice(0, 4), [0x20, 1, 0x0d, 0xb8]);
    assert.deepEqual([...parseAddress("::")!], Array(16).fill(0));
    assert.deepEqual(parseAddress("fe80::1%eth0"), parseAddress("fe80::1"));
  });

  it("rejects everything else", () => {
    for (
      const text of [
        "",
        "localhost",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "1.2.3.256",
        "0x7f.0.0.1",
        "2130706433",
        " 1.2.3.4",
        ":",
        ":::",
        "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7::8",
        "12345::",
        "g::",
        "1.2.3.4::",
        "[::1]",
        "unknown",
        "_hidden",
      ]
    ) assert.equal(parseAddress(text), undefined, text);
  });
});

describe("parseRange()", () => {
  const isIn = (range: string, address: string) =>
    isInRange(parseRange(range)!, parseAddress(address)!);

  it("reads a range or a single address", () => {
    for (
      const [range, inside, outside] of [
        ["10.0.0.0/8", "10.255.0.1", "11.0.0.0"],
        ["172.16.0.0/12", "172.31.9.9", "172.32.0.0"],
        ["192.0.2.1", "192.0.2.1", "192.0.2.2"],
        ["192.0.2.0/31", "::ffff:192.0.2.1", "192.0.2.2"],
        ["fd00::/8", "fdff::1", "fe00::1"],
        ["::1", "::1", "::2"],
        ["0.0.0.0/0", "203.0.113.9", "2001:db8::1"],
      ] as const
    ) {
      assert.equal(isIn(range, inside), true, `${inside} in ${range}`);
      assert.equal(isIn(range, outside), false, `${outside} in ${range}`);
    }
    assert.equal(isIn("::/0", "203.0.113.9"), true);
  });

  it("rejects everything else", () => {
    for (
      const text of [
        "",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/8/8",
        "::/129",
        "10/8",
        "1.2.3.4/-1",
        "*",
      ]
    ) {
      assert.equal(parseRange(text), undefined, text);
    }
  });
});

describe("isLoopbackAddress()", () => {
  it("is true for this machine only", () => {
    for (const text of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
      assert.equal(isLoopbackAddress(parseAddress(text)!), true, text);
    }
    for (const text of ["0.0.0.0", "128.0.0.1", "::", "::2", "10.0.0.1"]) {
      assert.equal(isLoopbackAddress(parseAddress(text)!), false, text);
    }
  });
});
