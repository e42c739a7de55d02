/** Whether two answers say the same. */
import type { AnswerBody, Response } from "../model/events.ts";
import { MASK } from "../ask/mask.ts";

/**
 * Compares an answer with the one on record. Where a field is masked on record
 * there is nothing to compare with, and it counts as the same.
 */
export function sameAnswer(recorded: AnswerBody, response: Response): boolean {
  return same(recorded.response, response);
}

function same(recorded: unknown, given: unknown): boolean {
  if (Object.is(recorded, given) || recorded === MASK) return true;
  if (typeof recorded !== "object" || typeof given !== "object") return false;
  if (recorded === null || given === null) return false;
  if (Array.isArray(recorded) !== Array.isArray(given)) return false;
  const keys = Object.keys(recorded);
  if (keys.length !== Object.keys(given).length) return false;
  return keys.every((key) =>
    Object.hasOwn(given, key) &&
    same((recorded as Record<string, unknown>)[key], (given as Record<string, unknown>)[key])
  );
}
