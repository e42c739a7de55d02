/** Parsers of flag values. A parser throws `InvalidArgumentError` with the rule that the value breaks. */
import { InvalidArgumentError } from "commander";
import { parseRange } from "../lib/ip-address.ts";
import { type Door, DOORS } from "../model/events.ts";

/** Adds a value of a repeatable flag to the values before it. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

export function toPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a number from 0 to 65535.");
}

export function toCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1) return count;
  throw new InvalidArgumentError("It must be a number, 1 or more.");
}

export function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError("It must be a number of seconds, up to 3600.");
}

export function toDays(text: string): number {
  const days = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && days > 0 && days <= 3_650) return days;
  throw new InvalidArgumentError("It must be a number of days, up to 3650.");
}

export function toMegabytes(text: string): number {
  const megabytes = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && megabytes >= 1 && megabytes <= 1e9) return megabytes;
  throw new InvalidArgumentError("It must be a number of megabytes, 1 or more.");
}

export function toAddress(text: string): string {
  const { protocol, href } = URL.parse(text) ?? {};
  if (href !== undefined && (protocol === "http:" || protocol === "https:")) return href;
  throw new InvalidArgumentError("It must be a URL such as https://example.com.");
}

export function toOrigin(text: string): string {
  return new URL(toAddress(text)).origin;
}

export function toDocumentAddress(text: string): string {
  const { protocol, pathname = "/", href } = URL.parse(text) ?? {};
  if (href !== undefined && protocol === "https:" && pathname !== "/") return href;
  throw new InvalidArgumentError("It must be a URL such as https://example.com.");
}

export function toRanges(text: string, before: readonly string[] = []): string[] {
  if (parseRange(text)) return [...before, text];
  throw new InvalidArgumentError("It must be an IP address or a range such as 10.0.0.0/8.");
}

export function toDoors(text: string, before: readonly Door[] = []): Door[] {
  const doors = text.split(",").map((door) => DOORS.find((one) => one === door.trim()));
  if (doors.every((door) => door !== undefined)) return [...before, ...doors];
  throw new InvalidArgumentError("It must be a list of form, app, page and model.");
}

export function toLimits(
  text: string,
  before: { readonly [name: string]: number } = {},
): { [name: string]: number } {
  const [, name = "", digits] = /^(\w+)=(\d+)$/.exec(text) ?? [];
  if (digits !== undefined && Number(digits) > 0 && Number(digits) <= Number.MAX_SAFE_INTEGER) {
    return { ...before, [name]: Number(digits) };
  }
  throw new InvalidArgumentError("It must be a name and a number, such as maxBody=1000000.");
}
