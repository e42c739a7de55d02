/**
 * Recognises public IP addresses. Loopback, private, link-local, multicast and reserved addresses
 * are not public. For an IPv6 address that contains an IPv4 address, the IPv4 address decides.
 *
 * The ranges are those of the IANA special-purpose registries (RFC 6890). For IPv6, only global
 * unicast (2000::/3) is public.
 */

/** The 32 bits of an IPv4 address in dotted form, or `undefined` if the text is not one. */
export function parseIPv4(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    // Reject leading zeros: some parsers read such a number as octal, others as decimal.
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = value * 256 + Number(part);
  }
  return value;
}

/** The eight groups of an IPv6 address, or `undefined` if the text is not one. A zone (`%eth0`) is ignored. */
export function parseIPv6(text: string): number[] | undefined {
  const [address = ""] = text.split("%");
  const dotted = /^(.*:)([^:]*\..*)$/.exec(address);
  let hex = address;
  if (dotted) {
    const embedded = parseIPv4(dotted[2]!);
    if (embedded === undefined) return undefined;
    hex = `${dotted[1]}${(embedded >>> 16).toString(16)}:${(embedded & 0xffff).toString(16)}`;
  }
  const halves = hex.split("::");
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => half === "" ? [] : half.split(":"));
  const zeros = 8 - head.length - tail.length;
  if (halves.length === 2 ? zeros < 1 : zeros !== 0) return undefined;
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...tail];
  if (!groups.every((group) => /^[\da-f]{1,4}$/i.test(group))) return undefined;
  return groups.map((group) => parseInt(group, 16));
}

/** True if the text is an IP address. */
export function isAddress(text: string): boolean {
  return parseIPv4(text) !== undefined || parseIPv6(text) !== undefined;
}

/** True if the text is a public IP address. */
export function isPublicAddress(text: string): boolean {
  const v4 = parseIPv4(text);
  if (v4 !== undefined) return isPublicIPv4(v4);
  const v6 = parseIPv6(text);
  return v6 !== undefined && isPublicIPv6(v6);
}

const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by a provider's customers
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, metadata of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, broadcast
].map((range) => {
  const [base, bits] = range.split("/") as [string, string];
  return { base: parseIPv4(base)!, size: 2 ** (32 - Number(bits)) };
});

function isPublicIPv4(value: number): boolean {
  return !SPECIAL_IPV4.some(({ base, size }) => value >= base && value < base + size);
}

function isPublicIPv6(groups: readonly number[]): boolean {
  const [a, b] = groups as [number, number];
  const startsWith = (...expected: number[]) =>
    expected.every((group, index) => groups[index] === group);
  const embedded = groups[6]! * 0x10000 + groups[7]!;
  // An IPv4-mapped address, and an IPv4 address behind NAT64.
  if (startsWith(0, 0, 0, 0, 0, 0xffff)) return isPublicIPv4(embedded);
  if (startsWith(0x64, 0xff9b, 0, 0, 0, 0)) return isPublicIPv4(embedded);
  if (a < 0x2000 || a > 0x3fff) return false;
  if (a === 0x2001 && b < 0x200) return false; // protocol assignments, Teredo
  if (a === 0x2001 && b === 0xdb8) return false; // documentation
  if (a === 0x2002) return false; // 6to4
  return !(a === 0x3fff && b < 0x1000); // documentation
}

/**
 * True if a host name may be public. The name is checked before it is resolved: it must have a dot,
 * and must not be reserved for this machine or for private networks.
 */
export function isPublicName(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.+$/, "");
  return name.includes(".") && !/\.(?:localhost|local|internal|home\.arpa|onion)$/.test(name);
}
