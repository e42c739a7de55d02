/** Parses IP addresses and ranges. An address is 16 bytes; IPv4 addresses are mapped into IPv6. */

/** All addresses whose first `bits` bits equal those of `start`. */
export interface AddressRange {
  readonly start: Uint8Array;
  readonly bits: number;
}

const BYTES = 16;
/** The index at which an IPv4 address begins in its mapped form, `::ffff:a.b.c.d`. */
const MAPPED = 12;

/** Returns the bytes of an address, or undefined if the text is not an address. */
export function parseAddress(text: string): Uint8Array | undefined {
  if (!text.includes(":")) {
    const tail = ipv4Bytes(text);
    if (!tail) return undefined;
    const bytes = new Uint8Array(BYTES);
    bytes.set([0xff, 0xff, ...tail], MAPPED - 2);
    return bytes;
  }
  // A zone ("%eth0") names a network interface of this machine, and is not part of the address.
  const halves = text.replace(/%.*$/, "").split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => ipv6Bytes(half, index === halves.length - 1));
  if (!head || (halves.length === 2 && !tail)) return undefined;
  const length = head.length + (tail?.length ?? 0);
  if (tail ? length > BYTES - 2 : length !== BYTES) return undefined;
  const bytes = new Uint8Array(BYTES);
  bytes.set(head);
  if (tail) bytes.set(tail, BYTES - tail.length);
  return bytes;
}

/**
 * Parses a range such as `10.0.0.0/8`, or a single address. Returns undefined if the text is
 * neither.
 */
export function parseRange(text: string): AddressRange | undefined {
  const [address = "", prefix, ...rest] = text.split("/");
  const start = parseAddress(address);
  if (!start || rest.length > 0) return undefined;
  const longest = address.includes(":") ? BYTES * 8 : 32;
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return undefined;
  const length = prefix === undefined ? longest : Number(prefix);
  if (length > longest) return undefined;
  return { start, bits: BYTES * 8 - longest + length };
}

export function isInRange({ start, bits }: AddressRange, address: Uint8Array): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (start[i] !== address[i]) return false;
  const rest = bits & 7;
  return rest === 0 || (start[whole]! ^ address[whole]!) >> (8 - rest) === 0;
}

/** Parsed on first use. */
let loopback: readonly AddressRange[] | undefined;

/** Returns true for a loopback address. */
export function isLoopbackAddress(address: Uint8Array): boolean {
  loopback ??= [parseRange("127.0.0.0/8")!, parseRange("::1")!];
  return loopback.some((range) => isInRange(range, address));
}

function ipv4Bytes(text: string): number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) {
    return undefined;
  }
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

/**
 * Returns the bytes of the groups between colons. The last group may be an IPv4 address if `isEnd`.
 */
function ipv6Bytes(text: string, isEnd: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (/^[\da-f]{1,4}$/i.test(group)) {
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
      continue;
    }
    const tail = isEnd && index === groups.length - 1 ? ipv4Bytes(group) : undefined;
    if (!tail) return undefined;
    bytes.push(...tail);
  }
  return bytes;
}
