/** @jsxImportSource preact */
/// <reference lib="dom" />
/** One call: its facts, its open questions, its timeline and its exchanges. */
import { useState } from "preact/hooks";
import type { CallDetail, CallQuestion } from "../../model/calls.ts";
import { awaited } from "./call-list.tsx";
import { useCall, useUpdates } from "./calls-data.ts";
import type { AboutConsole } from "./document.ts";
import { Exchanges, readLog } from "./exchanges.tsx";
import { Action, Badge, copy, duration, Empty, Json, Tabs, toast, useNow } from "./parts.tsx";
import { Replay } from "./replay.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { post } from "./server.ts";
import { testScript } from "./test-script.ts";
import { Timeline } from "./timeline.tsx";

function moment(time: number): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

const FINAL = ["completed", "failed", "cancelled"];

export function CallPage({ id, about }: { id: string; about: AboutConsole }) {
  const updates = useUpdates(id);
  const call = useCall(id, updates);
  const [tab, setTab] = useState<"timeline" | "exchanges" | "replay">("timeline");
  if (call === undefined) return <p class="note">Loading …</p>;
  if (call instanceof Error) {
    return (
      <Empty title="This call is not here">
        <p>{call.message}</p>
        <p>
          <a href="#/calls">All calls</a>
        </p>
      </Empty>
    );
  }
  const path = `api/calls/${encodeURIComponent(id)}`;
  const { mayAct } = about.visitor;
  const asTest = async () => {
    const { events } = await readLog(call);
    await copy(testScript(call, events), "The test");
  };
  return (
    <>
      <div class="head">
        <h1>{call.tool}</h1>
        <Badge state={call.state} />
        <span class="end">
          {call.kind === "tool" && <Action run={asTest}>Copy as a test</Action>}
          {mayAct && call.state === "set-aside" && (
            <Action run={() => post(`${path}/revive`)}>Revive</Action>
          )}
          {mayAct && !FINAL.includes(call.state) && (
            <Action
              kind="danger"
              run={async () => {
                await post(`${path}/cancel`, { reason: "cancelled by the operator" });
                toast("The call was cancelled.");
              }}
            >
              Cancel the call
            </Action>
          )}
        </span>
        <p>
          <a href="#/calls">Calls</a> / <code>{call.id}</code>
        </p>
      </div>
      {call.questions.map((question) => (
        <OpenQuestion key={question.id} question={question} path={path} mayAct={mayAct} />
      ))}
      <Facts call={call} />
      {call.outcome && <Outcome outcome={call.outcome} />}
      <Tabs
        label="Views of the call"
        tabs={[["timeline", "Timeline"], ["exchanges", "Exchanges"], ["replay", "Replay"]]}
        chosen={tab}
        choose={setTab}
      />
      {tab === "timeline" && <Timeline call={call} />}
      {tab === "exchanges" && <Exchanges call={call} />}
      {tab === "replay" && <Replay call={call} mayAct={mayAct} />}
    </>
  );
}

function OpenQuestion({ question, path, mayAct }: {
  question: CallQuestion;
  path: string;
  mayAct: boolean;
}) {
  const { id, key, branch, message, schema, sensitive, awaits, since, door } = question;
  const { refused, expiresAt } = question;
  const now = useNow();
  const answer = async (action: "accept" | "decline", content?: object) => {
    try {
      await post(`${path}/answer`, { question: id, action, ...(content && { content }) });
      toast("Your answer was recorded.");
    } catch (error) {
      toast((error as Error).message);
    }
  };
  const decline = <button type="button" onClick={() => answer("decline")}>Decline</button>;
  return (
    <section class="card asks" aria-label={`Question ${key} ${branch}`.trim()}>
      <p class="note">
        Awaits {awaited(awaits)}
        {branch !== "" && ` in the branch ${branch}`}
        {door && `, by ${door}`}
        {since !== undefined && `, for ${duration(Math.max(0, now - since))}`}
        {expiresAt !== undefined && `, until ${moment(expiresAt)}`}
        {refused !== undefined && ` · ${refused}`}
      </p>
      {message && <p class="message">{message}</p>}
      {refused !== undefined
        ? null
        : !mayAct
        ? <p class="note">You may only look: answering needs the scope console:act.</p>
        : schema
        ? (
          <SchemaForm
            schema={schema}
            {...(sensitive && { sensitive })}
            submit="Answer as the operator"
            send={(content) => answer("accept", content)}
          >
            {decline}
          </SchemaForm>
        )
        : awaits === "person" && <div class="actions">{decline}</div>}
    </section>
  );
}

function Facts({ call }: { call: CallDetail }) {
  const { waitingTime, workingTime } = call;
  const facts: (readonly [string, unknown])[] = [
    ["Began", moment(call.createdAt)],
    ["Client", [call.client?.name, call.client?.version].filter(Boolean).join(" ")],
    ["Protocol", call.protocolVersion],
    ["Caller", call.principal || "anonymous"],
    ["Events", call.lastLSN.toLocaleString("en")],
    [
      "Kept",
      call.durable ? call.inMemory ? "in memory and the store" : "in the store" : "in memory",
    ],
    ["Version of the tool", call.toolVersion],
    ["Takeovers", call.takeovers],
    ["Expires", call.expiresAt && moment(call.expiresAt)],
  ];
  const total = waitingTime + (workingTime ?? 0);
  return (
    <section class="card" aria-label="Facts">
      <dl class="facts">
        {facts.filter(([, value]) => value !== undefined && value !== "" && value !== 0)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{String(value)}</dd>
            </div>
          ))}
      </dl>
      {total > 0 && (
        <>
          <div class="times" aria-hidden="true">
            <i style={{ flexGrow: workingTime ?? 0 }} />
            <i style={{ flexGrow: waitingTime }} />
          </div>
          <div class="legend">
            <span>
              {workingTime === undefined ? "working" : `${duration(workingTime)} working`}
            </span>
            <span>{duration(waitingTime)} waiting</span>
          </div>
        </>
      )}
      <details style={{ marginTop: "1rem" }}>
        <summary>Arguments</summary>
        <Json value={call.params} />
      </details>
    </section>
  );
}

function Outcome({ outcome }: { outcome: NonNullable<CallDetail["outcome"]> }) {
  const value = outcome.status === "completed"
    ? outcome.result
    : outcome.status === "failed"
    ? outcome.error
    : outcome.reason;
  return (
    <section class="card" aria-label="Outcome">
      <h2>Outcome</h2>
      <Json value={value} />
    </section>
  );
}
