/** What is kept of a session beside its events, and whether that can be taken up. */
import type { ClientInfo } from "../model/events.ts";
import type { ToolSessionEntry } from "../store/types.ts";
import type { Definition } from "../tool/types.ts";
import type { LiveToolSession } from "../session/tool-session.ts";

/** What is kept besides what every store knows. */
export interface KeptMeta {
  readonly kind: Definition["kind"];
  readonly principal: string;
  readonly client: ClientInfo;
  readonly keepUntil: number;
  readonly taskSince?: number;
  readonly attended?: boolean;
  /** The epoch at which it was last alive; records of earlier versions have none. */
  readonly settled?: number;
  /** It is not run any more. */
  readonly setAside?: { readonly at: number; readonly attempts: number };
}

/** Why a call cannot be taken up that another version of its tool began. */
export function mismatch({ durable }: Definition, began: string | undefined): string | undefined {
  const { version } = durable!;
  if (began === version) return undefined;
  return `version ${began} of it began this call, and this is version ${version}`;
}

/** How a session is put on record that begins now. */
export function entryOf(
  session: LiveToolSession,
  params: unknown,
  expiresAt: number,
): ToolSessionEntry {
  const { id, toolName, principal, createdAt, tool } = session;
  return {
    id,
    toolName,
    params: params ?? {},
    principal,
    createdAt,
    epoch: 1,
    toolVersion: tool.durable!.version,
    expiresAt,
    meta: metaOf(session) as never,
  };
}

export function metaOf(session: LiveToolSession, settled = session.settled): KeptMeta {
  const { tool: { kind }, principal, client, keepUntil, taskSince, attended } = session;
  return {
    kind,
    principal,
    client,
    keepUntil,
    settled,
    ...(taskSince !== undefined && { taskSince }),
    ...(attended && { attended }),
  };
}
