/** @jsxImportSource preact */
/// <reference lib="dom" />
/** A run in Play: what it asks, its view, its result, and the messages on the wire. */
import { useState } from "preact/hooks";
import type { TraceLine } from "../../client/http.ts";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import { Badge, Json } from "./parts.tsx";
import { type Asked, CLIENT_NAME, type PlayRun, type RunState } from "./play-run.ts";
import { asList, Content, Message, SampleCard } from "./sample-card.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { ViewFrame } from "./view-frame.tsx";

const STATES = { running: "running", done: "completed", failed: "failed", cancelled: "cancelled" };

export function RunView({ run }: { run: PlayRun }) {
  const { status, asked, view, result, problem, ticket, wire } = run.state;
  const open = asked.filter(({ ended }) => ended === undefined);
  const ended = asked.filter(({ ended }) => ended !== undefined);
  return (
    <>
      <section class="card" aria-label="Run">
        <div class="head">
          <h2>Run</h2>
          <Badge state={ticket || open.length > 0 ? "waiting" : STATES[status]} />
          <span class="end">
            <a
              href={`#/calls?client=${CLIENT_NAME}&tool=${
                encodeURIComponent(run.of.name)
              }&order=newest`}
            >
              See it in Calls
            </a>
          </span>
        </div>
        <Happened state={run.state} />
        {ended.length > 0 && (
          <ol class="note">
            {ended.map(({ id, question, ended }) => (
              <li key={id}>{summaryOf(question)} {ended}.</li>
            ))}
          </ol>
        )}
        {status === "running" && open.length === 0 && !view && <p class="note">Running …</p>}
        {problem && <p class="problem" role="alert">{problem}</p>}
        {result && <Result result={result} />}
        {ticket && (
          <p>
            <button type="button" onClick={() => run.continueCall()}>Continue the call</button>
          </p>
        )}
      </section>
      {view && <ViewFrame run={run} html={view} />}
      {open.map((one) => <Question key={one.id} asked={one} />)}
      <Wire lines={wire} />
    </>
  );
}

function summaryOf(question: Asked["question"]): string {
  switch (question.type) {
    case "form":
    case "page":
      return `${question.params.message.split("\n", 1)[0]} ·`;
    case "sample":
      return "The model was asked ·";
    case "roots":
      return "The server asked for the roots of the client ·";
  }
}

function Happened({ state: { progress, logs } }: { state: RunState }) {
  return (
    <>
      {progress && (
        <div class="progress">
          <progress
            aria-label="Progress"
            {...(progress.total !== undefined &&
              { value: progress.progress, max: progress.total })}
          />
          {progress.message && <span>{progress.message}</span>}
        </div>
      )}
      {logs.map(({ level, data }) => (
        <p class="note">
          {level}: {typeof data === "string" ? data : JSON.stringify(data)}
        </p>
      ))}
    </>
  );
}

function Question({ asked: { question, answer } }: { asked: Asked }) {
  const decline = (
    <>
      <button type="button" onClick={() => answer({ action: "decline" }, "Declined")}>
        Decline
      </button>
      <button type="button" onClick={() => answer({ action: "cancel" }, "Dismissed")}>
        Dismiss
      </button>
    </>
  );
  switch (question.type) {
    case "form":
      return (
        <section class="card asks" aria-label="Question">
          <p class="message">{question.params.message}</p>
          <SchemaForm
            schema={question.params.requestedSchema}
            sensitive={question.sensitive}
            submit="Accept"
            send={(content) => answer({ action: "accept", content }, "Answered")}
          >
            {decline}
          </SchemaForm>
        </section>
      );
    case "page": {
      const { message, url } = question.params;
      return (
        <section class="card asks" aria-label="Question">
          <p class="message">{message}</p>
          <p>
            {/^https?:/i.test(url)
              ? <a href={url} target="_blank" rel="noopener noreferrer">{url}</a>
              : <code>{url}</code>}
          </p>
          <div class="actions">
            <button
              type="button"
              class="main"
              onClick={() => answer({ action: "accept" }, "Opened")}
            >
              I opened it
            </button>
            {decline}
          </div>
        </section>
      );
    }
    case "sample":
      return (
        <section class="card asks" aria-label="Sample">
          <SampleCard params={question.params} answer={answer} />
        </section>
      );
    case "roots":
      return (
        <section class="card asks" aria-label="Roots">
          <p class="message">The server asks for the roots of the client.</p>
          <SchemaForm
            schema={ROOTS}
            submit="Send"
            send={({ roots = "" }) => {
              const uris = String(roots).split("\n").map((uri) => uri.trim()).filter(Boolean);
              answer({ roots: uris.map((uri) => ({ uri })) }, `Sent ${uris.length}`);
            }}
          />
        </section>
      );
  }
}

const ROOTS = {
  type: "object",
  properties: {
    roots: {
      type: "string",
      title: "Roots",
      description: "One URI on each line, such as file:///home/ada/project",
      maxLength: 10_000,
    },
  },
};

function Result({ result }: { result: JsonObject }) {
  const { content, structuredContent, messages, contents, isError } = result;
  return (
    <div class="chat" aria-label="Result" role="group">
      {isError === true && <p class="problem">The tool reports an error.</p>}
      {asList(content).map((block) => (
        <div class="said">
          <Content block={block} />
        </div>
      ))}
      {structuredContent !== undefined && (
        <div class="said">
          <b>structured content</b>
          <Json value={structuredContent} />
        </div>
      )}
      {asList(messages).filter(isObject).map(({ role, content }) => (
        <Message role={String(role)} content={content} />
      ))}
      {asList(contents).filter(isObject).map((one) => (
        <div class="said">
          <b>{String(one.uri)}</b>
          {typeof one.text === "string" ? <pre>{one.text}</pre> : <Json value={one} />}
        </div>
      ))}
    </div>
  );
}

/** The messages on the wire, newest last. Their text is formatted when it is opened. */
export function Wire({ lines }: { lines: readonly TraceLine[] }) {
  if (lines.length === 0) return null;
  return (
    <section class="card" aria-label="Wire messages">
      <h2>On the wire</h2>
      <div class="wire">{lines.map((line, at) => <WireLine key={at} line={line} />)}</div>
    </section>
  );
}

export function WireLine({ line: { from, text }, open = false }: {
  line: TraceLine;
  open?: boolean;
}) {
  const message = JSON.parse(text) as JsonObject;
  const what = typeof message.method === "string"
    ? message.method
    : message.error
    ? "error"
    : isObject(message.result) && message.result.resultType === "input_required"
    ? "input required"
    : "result";
  const [isOpen, setOpen] = useState(open);
  return (
    <details
      class={from}
      open={open}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span>{from === "client" ? "client →" : "← server"}</span>
        <span>{what}</span>
      </summary>
      {isOpen && <Json value={message} />}
    </details>
  );
}
