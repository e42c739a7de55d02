import assert from "node:assert/strict";
import fc from "fast-check";
import { isIPv4, isIPv6 } from "node:net";
import {
  isPublicAddress,
  isPublicName,
  parseIPv4,
  parseIPv6,
} from "../../../../tools/bluesky/net/public-address.ts";
import { describe, it } from "../../../suite.ts";

const PUBLIC = [
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2606:4700:4700::1111",
  "2a00:1450:4001:81b::200e",
  "2001:4860:4860::8888",
  "::ffff:1.1.1.1",
  "::ffff:101:101",
  "64:ff9b::1.1.1.1",
];

const NOT_PUBLIC = [
  "0.0.0.0",
  "10.0.0.1",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.255",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.1",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "0:0:0:0:0:0:0:1",
  "::127.0.0.1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::FFFF:169.254.169.254",
  "::ffff:0:127.0.0.1",
  "64:ff9b::127.0.0.1",
  "64:ff9b::a00:1",
  "64:ff9b:1::1.1.1.1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:7f00:1::1",
  "3fff::1",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "",
  "localhost",
  "1.1.1",
  "1.1.1.1.1",
  "01.1.1.1",
  "1.1.1.256",
  "0x1.1.1.1",
  "2606:::1",
  "2606::1::1",
  "2606:4700:4700:0:0:0:0:0:1",
  "2606:4700",
  "2606::g",
  "2606::1.1.1",
  "[2606::1]",
];

describe("isPublicAddress()", () => {
  it("accepts addresses of the public internet", () => {
    for (const address of PUBLIC) assert.equal(isPublicAddress(address), true, address);
  });

  it("refuses every other range, and invalid addresses", () => {
    for (const address of NOT_PUBLIC) assert.equal(isPublicAddress(address), false, address);
  });

  it("returns the same for an IPv4 address and its mapped IPv6 address", () => {
    fc.assert(fc.property(fc.ipV4(), (address) => {
      const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      for (const mapped of [`::ffff:${address}`, `::ffff:${hex}`, `0:0:0:0:0:ffff:${hex}`]) {
        assert.equal(isPublicAddress(mapped), isPublicAddress(address), mapped);
      }
    }));
  });

  it("parses addresses as the runtime does", () => {
    fc.assert(fc.property(fc.ipV6(), (address) => {
      assert.ok(isIPv6(address));
      const groups = parseIPv6(address);
      assert.equal(groups?.length, 8, address);
      const plain = groups!.map((group) => group.toString(16)).join(":");
      const { hostname } = new URL(`http://[${plain}]`);
      assert.deepEqual(parseIPv6(hostname.slice(1, -1)), groups, address);
    }));
    fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."0123456789.af:x") }), (text) => {
      assert.equal(parseIPv4(text) !== undefined, isIPv4(text), text);
      assert.equal(parseIPv6(text) !== undefined, isIPv6(text), text);
    }));
  });
});

describe("isPublicName()", () => {
  it("refuses this machine in every spelling, and names of private networks", () => {
    for (
      const name of [
        "localhost",
        "localhost.",
        "LOCALHOST..",
        "foo.localhost",
        "a.b.localhost.",
        "intranet",
        "intranet.",
        "printer.local",
        "metadata.google.internal",
        "router.home.arpa",
        "",
        ".",
      ]
    ) assert.equal(isPublicName(name), false, name);
  });

  it("accepts names that can be public", () => {
    for (const name of ["bsky.social", "bsky.social.", "localhost.example", "a.localhosts.dev"]) {
      assert.equal(isPublicName(name), true, name);
    }
  });
});
