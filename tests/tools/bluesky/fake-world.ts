/** The tools with a fake service and an assistant. */
import { type Operation, until } from "effection";
import type { Fault } from "parley-mcp";
import { Accounts } from "../../../tools/bluesky/accounts.ts";
import type { BlueskySetup } from "../../../tools/bluesky/setup.ts";
import { useFolder } from "../../support/folder.ts";
import {
  type Answer,
  type Assistant,
  type CLIENTS,
  type Era,
  type Question,
  type Result,
  useAssistant,
} from "./assistant.ts";
import { FakeService, PERSON } from "./fake-service.ts";
import { MemoryVault } from "../../support/memory-vault.ts";
import { type ServeOptions, useHttp } from "./servers.ts";

export interface FakeWorld {
  readonly service: FakeService;
  readonly vault: MemoryVault;
  readonly accounts: Accounts;
  readonly assistant: Assistant;
  readonly faults: readonly Fault[];
  readonly log: readonly string[];
  readonly url: string;
  /** How many streams the server has open. */
  streams(): number;
  call(name: string, args?: object): Operation<Result>;
  /** Signs the person in, without any question. */
  signIn(): Operation<void>;
}

export interface FakeOptions extends Omit<ServeOptions, "setup"> {
  readonly era?: Era;
  readonly can?: keyof typeof CLIENTS;
  readonly setup?: Partial<BlueskySetup>;
  readonly headers?: Record<string, string>;
}

export function* useFakeWorld(
  { era = "legacy", can = "url", setup, headers, ...options }: FakeOptions = {},
): Operation<FakeWorld> {
  const service = new FakeService();
  const vault = new MemoryVault();
  const folder = yield* useFolder();
  const { address, faults, log, streams } = yield* useHttp(
    { pds: service.url, plc: "https://plc.example" },
    folder,
    {
      ...options,
      setup: { network: service.network, vault: () => Promise.resolve(vault), ...setup },
    },
  );
  const { url } = address as { url: string };
  const assistant = yield* useAssistant({ url, ...(headers && { headers }) }, era, can);
  const call = (name: string, args: object = {}) => until(assistant.call(name, args));
  const accounts = new Accounts(vault, "");
  return {
    service,
    vault,
    accounts,
    assistant,
    faults,
    log,
    url,
    streams: streams!,
    call,
    *signIn() {
      const { handle, appPassword: password } = PERSON;
      yield* call("login", { handle, password });
    },
  };
}

/** Answers questions one after the other, each with the next of these. */
export function script(
  ...answers: (Answer | ((question: Question) => Answer | Promise<Answer>))[]
) {
  return (question: Question): Answer | Promise<Answer> => {
    const next = answers.shift();
    if (!next) throw new Error(`Nobody expected another question: ${question.message}`);
    return typeof next === "function" ? next(question) : next;
  };
}

/** Submits the page, as a browser would. */
export async function typeInto(url: string, fields: Record<string, string>): Promise<Response> {
  const origin = new URL(url).origin;
  return await fetch(url, {
    method: "POST",
    headers: { origin },
    body: new URLSearchParams(fields),
  });
}
