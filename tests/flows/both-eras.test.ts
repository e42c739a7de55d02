import assert from "node:assert/strict";
import { onSocket } from "../support/socket.ts";
import { planTrip } from "../support/multi-round-tool.ts";
import { connectV1, connectV2, type Official } from "../support/official-clients.ts";
import { describe, it } from "../suite.ts";

function served(body: (url: string) => Promise<void>): Promise<void> {
  return onSocket({ serve: [planTrip] }, body);
}

async function trip(connecting: Promise<Official>): Promise<Official> {
  const client = await connecting;
  await client.call("plan_trip", { to: "Graz" });
  await client.close();
  return client;
}

const MODERN = { pin: "2026-07-28" };

describe("the official clients", () => {
  it("have the same conversation with the same tool, whatever the era", async () => {
    await served(async (url) => {
      const legacy = await trip(connectV1(url));
      const modern = await trip(connectV2(url, MODERN));
      assert.equal(legacy.version, "2025-11-25");
      assert.equal(modern.version, "2026-07-28");
      assert.deepEqual(modern.conversation, legacy.conversation);

      const { questions, answers, progress, logs, result } = legacy.conversation;
      assert.equal(questions.length, 4);
      assert.equal(answers.length, 4);
      assert.equal(progress.length, 4);
      assert.deepEqual(logs, [
        { level: "info", data: { planning: "Graz" } },
        { level: "warning", logger: "extras", data: "extras: decline" },
      ]);
      assert.deepEqual((result as { structuredContent: object }).structuredContent, {
        plan: "Graz on 2026-08-01, window",
        extras: false,
        poem: "O Graz, thy clock is tall.",
      });
    });
  });

  it("choose the newest era by default, and the older one on request", async () => {
    await served(async (url) => {
      const auto = await trip(connectV2(url, "auto"));
      const older = await trip(connectV2(url, "legacy"));
      const legacy = await trip(connectV1(url));
      assert.equal(auto.version, "2026-07-28");
      assert.equal(older.version, "2025-11-25");
      assert.deepEqual(auto.conversation, legacy.conversation);
      assert.deepEqual(older.conversation, legacy.conversation);
    });
  });

  it("of both eras share one endpoint, many at once", async () => {
    await served(async (url) => {
      const connects = [
        () => connectV1(url),
        () => connectV2(url, MODERN),
        () => connectV2(url, "auto"),
        () => connectV2(url, "legacy"),
      ];
      const clients = await Promise.all(
        Array.from({ length: 32 }, (_, i) => trip(connects[i % connects.length]!())),
      );
      const [first, ...others] = clients;
      for (const { conversation } of others) {
        assert.deepEqual(conversation, first!.conversation);
      }
    });
  });
});
