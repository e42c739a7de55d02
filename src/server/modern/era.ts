/** The modern era: every request stands alone, and says all about its client. */
import type { RpcError } from "../../model/events.ts";
import {
  HEADER_MISMATCH,
  INVALID_PARAMS,
  INVALID_REQUEST,
  UNSUPPORTED_VERSION,
} from "../../model/rpc-codes.ts";
import { readMessage, type RpcMessage, type RpcRequest } from "../../wire/json-rpc.ts";
import type { Caching } from "../../wire/modern/encode.ts";
import { mismatch } from "../../wire/modern/headers.ts";
import { claimedVersion, readMeta, type RequestMeta } from "../../wire/modern/meta.ts";
import { MODERN_VERSION } from "../../wire/versions.ts";
import type { ServerCore } from "../core.ts";
import { ACCEPTED, busy, type Caller, type Era, refused, type Reply } from "../reply.ts";
import { isRun } from "../run-target.ts";
import { ModernRequests } from "./receive.ts";
import { headersDiffer, MODERN_ERRORS } from "./refusals.ts";

export class ModernEra implements Era {
  readonly #core: ServerCore;
  readonly #requests: ModernRequests;

  /** `listCaching` says how long, and by whom, lists may be cached. */
  constructor(core: ServerCore, listCaching: Caching) {
    this.#core = core;
    this.#requests = new ModernRequests(core, core.registry.sealer, listCaching);
  }

  receive(message: RpcMessage, caller: Caller): Reply {
    switch (message.type) {
      case "notification":
        return ACCEPTED;
      case "answer":
        return refused(
          400,
          INVALID_REQUEST,
          "Cannot read the message: it answers a request, and there are none here; send the answer in inputResponses",
        );
      case "invalid":
        return refused(
          400,
          INVALID_REQUEST,
          `Cannot read the message: ${message.problem}; send JSON-RPC 2.0`,
          message.id,
        );
    }
    const { id } = message;
    const meta = checkedMeta(caller.headers, message);
    if ("code" in meta) return { type: "refused", id, error: meta, status: 400 };
    if (caller.underWay?.has(id)) {
      const problem = "Cannot take the request: its id is in use; send it with another";
      return refused(400, INVALID_REQUEST, problem, id);
    }
    // Before it runs: a call that is refused must not have done anything.
    if (caller.ownStream && isRun(message.method)) {
      const problem = this.#core.refusesStream(caller.principal);
      if (problem !== undefined) return busy(id, problem, MODERN_ERRORS);
    }
    return this.#requests.receive(message, { meta, caller });
  }

  /** This revision has no batches. */
  receiveBatch(items: readonly unknown[], caller: Caller): Reply {
    return this.receive(readMessage(items), caller);
  }

  drain(): void {
    this.#requests.endSubscriptions();
  }

  stop(): void {
    this.#requests.endSubscriptions();
    this.#requests.stopQueries();
  }

  close(): void {}
}

/** The metadata of a request, or what is wrong with it. */
function checkedMeta(
  headers: Headers | undefined,
  { method, params }: RpcRequest,
): RequestMeta | RpcError {
  // The revision first: what else a request must say depends on it.
  const version = claimedVersion(params);
  const wrong = version === undefined ? undefined : wrongVersion(headers, version);
  if (wrong) return wrong;
  const meta = readMeta(params);
  if ("problem" in meta) {
    return {
      code: INVALID_PARAMS,
      message: `Cannot take the request: ${meta.problem}; ${meta.wayOut ?? "send it along"}`,
    };
  }
  const problem = headers && mismatch(headers, method, params);
  if (!problem) return meta;
  const { message } = headersDiffer(problem);
  return { code: HEADER_MISMATCH, message };
}

function wrongVersion(headers: Headers | undefined, version: string): RpcError | undefined {
  const said = headers ? headers.get("mcp-protocol-version") : version;
  if (said !== version) {
    const what = said === null ? "is missing" : `says "${said}", the body "${version}"`;
    return {
      code: HEADER_MISMATCH,
      message:
        `Cannot take the request: the MCP-Protocol-Version header ${what}; let both say the same`,
    };
  }
  return version === MODERN_VERSION ? undefined : {
    code: UNSUPPORTED_VERSION,
    message:
      `Cannot serve protocol version "${version}": it is not supported here; take one of those in the data`,
    data: { supported: [MODERN_VERSION], requested: version },
  };
}
