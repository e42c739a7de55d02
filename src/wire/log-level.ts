/** Syslog severities, from the least severe to the most severe. */
import type { LogLevel } from "../model/events.ts";

const SEVERITY: Record<LogLevel, number> = {
  debug: 0,
  info: 1,
  notice: 2,
  warning: 3,
  error: 4,
  critical: 5,
  alert: 6,
  emergency: 7,
};

export function isLogLevel(value: unknown): value is LogLevel {
  return typeof value === "string" && Object.hasOwn(SEVERITY, value);
}

export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return SEVERITY[level] >= SEVERITY[least];
}
