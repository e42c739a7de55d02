/** @jsxImportSource preact */
/// <reference lib="dom" />
/**
 * Messages of a conversation with a model, and a sampling request that the person answers by hand.
 */
import { useState } from "preact/hooks";
import { isObject } from "../../lib/json.ts";
import type { JsonObject } from "../../model/content.ts";
import type { SampleParams, SampleResponse } from "../../model/events.ts";
import { Json, Tabs } from "./parts.tsx";
import { SchemaForm } from "./schema-form.tsx";

/** One content block, as text. */
export function Content({ block }: { block: unknown }) {
  if (typeof block === "string") return <pre>{block}</pre>;
  if (!isObject(block)) return <Json value={block} />;
  switch (block.type) {
    case "text":
      return <pre>{String(block.text)}</pre>;
    case "image": {
      const type = String(block.mimeType);
      return /^image\/(png|jpeg|gif|webp)$/.test(type)
        ? <img alt="" src={`data:${type};base64,${block.data}`} />
        : <Json value={block} />;
    }
    case "tool_use":
      return (
        <>
          <pre class="mono">calls {String(block.name)}</pre>
          <Json value={block.input} />
        </>
      );
    case "tool_result":
      return <>{asList(block.content).map((one, at) => <Content key={at} block={one} />)}</>;
    default:
      return <Json value={block} />;
  }
}

export function Message({ role, content }: { role: string; content: unknown }) {
  return (
    <div class={`said ${role === "assistant" ? "assistant" : ""}`}>
      <b>{role}</b>
      {asList(content).map((block, at) => <Content key={at} block={block} />)}
    </div>
  );
}

export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

/** The tool with which a model sends data that fits a schema. */
const DATA = "__schema__";

const TEXT = {
  type: "object",
  properties: { text: { type: "string", title: "Reply", maxLength: 100_000 } },
  required: ["text"],
};

/** A sampling request, with a form for each way to answer it. */
export function SampleCard({ params, answer }: {
  params: SampleParams;
  answer: (response: SampleResponse, summary: string) => void;
}) {
  const { messages, systemPrompt, tools = [], toolChoice } = params;
  const mayWrite = tools.length === 0 || toolChoice?.mode !== "required";
  const ways = [...(mayWrite ? ["text"] : []), ...tools.map(({ name }) => `tool ${name}`)];
  const [way, setWay] = useState(ways[0] ?? "text");
  const tool = tools.find(({ name }) => `tool ${name}` === way);
  const respond = (content: SampleResponse["content"], stopReason: string, summary: string) =>
    answer({ role: "assistant", content, model: "by hand", stopReason }, summary);
  const call = (input: JsonObject) => {
    const id = `call_${crypto.randomUUID().slice(0, 8)}`;
    const use = { type: "tool_use" as const, id, name: tool!.name, input };
    respond([use], "toolUse", `Called ${tool!.name}`);
  };
  return (
    <>
      <div class="chat">
        {systemPrompt && <Message role="system" content={systemPrompt} />}
        {messages.map(({ role, content }, at) => (
          <Message
            key={at}
            role={role}
            content={content}
          />
        ))}
      </div>
      <h3 style={{ marginTop: "1rem" }}>Your answer as the model</h3>
      {ways.length > 1 && (
        <Tabs
          label="How to answer"
          tabs={ways.map((key) =>
            [key, key === "text" ? "Text" : key === `tool ${DATA}` ? "Data" : key.slice(5)] as const
          )}
          chosen={way}
          choose={setWay}
        />
      )}
      {tool
        ? (
          <>
            {tool.description && <p class="note">{tool.description}</p>}
            <SchemaForm
              key={way}
              schema={tool.inputSchema}
              submit={tool.name === DATA ? "Send the data" : `Call ${tool.name}`}
              send={call}
            />
          </>
        )
        : (
          <SchemaForm
            key={way}
            schema={TEXT}
            submit="Reply"
            send={({ text }) => respond({ type: "text", text: String(text) }, "endTurn", "Replied")}
          />
        )}
    </>
  );
}
