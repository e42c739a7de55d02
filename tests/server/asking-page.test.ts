import assert from "node:assert/strict";
import { type Operation, spawn, until } from "effection";
import { Deadlines } from "../../src/lib/deadlines.ts";
import { askingPage } from "../../src/server/asking-page.ts";
import { createManualClock, type ManualClock } from "../../src/testing/manual-clock.ts";
import { describe, it } from "../suite.ts";
import { HandPlace, question } from "../support/hand-place.ts";

const URL_OF_PAGE = "https://tools.example/parley/pages/abc";
const ORIGIN = "https://tools.example";
const SEAT = { seat: { type: "string", title: "Seat", enum: ["window", "aisle"] } };

interface Shown {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The hidden inputs of the form. */
  readonly hidden: { readonly [name: string]: string };
}

interface Visitor {
  readonly clock: ManualClock;
  get(path?: string): Operation<Shown>;
  /** Posts a form as a browser does. */
  post(
    fields: { readonly [name: string]: string },
    headers?: { readonly [name: string]: string },
  ): Operation<Shown>;
}

function visiting(place: HandPlace): Visitor {
  const clock = createManualClock();
  const respond = askingPage(place, { url: () => URL_OF_PAGE, deadlines: new Deadlines(clock) });
  function* shown(request: Request): Operation<Shown> {
    const response = yield* respond(request);
    const text = yield* until(response.text());
    const inputs = [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
    return {
      status: response.status,
      headers: response.headers,
      text,
      hidden: Object.fromEntries(inputs.map(([, name, value]) => [name, value])),
    };
  }
  return {
    clock,
    get: (path = "") => shown(new Request(`${URL_OF_PAGE}${path}`)),
    post(fields, headers = { origin: ORIGIN }) {
      const body = new URLSearchParams(fields).toString();
      return shown(
        new Request(URL_OF_PAGE, {
          method: "POST",
          body,
          headers: {
            "content-type": "application/x-www-form-urlencoded",
            "content-length": String(body.length),
            ...headers,
          },
        }),
      );
    },
  };
}

describe("the asking page", () => {
  it("shows who asks what, for which client, and the form", function* () {
    const { text, status, headers } = yield* visiting(
      new HandPlace(question(SEAT, { message: "Which <seat>?", client: "Some & client" })),
    ).get();
    assert.equal(status, 200);
    assert.match(text, /<h1>Book a seat asks<\/h1>/);
    assert.match(text, /book_seat/);
    assert.match(text, /Some &#38; client/);
    assert.match(text, /Which &#60;seat&#62;\?/);
    assert.match(text, /<form method="post" action="\/parley\/pages\/abc" novalidate>/);
    const policy = headers.get("content-security-policy")!;
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
  });

  it("takes an answer once, and then says that the tab can be closed", function* () {
    const place = new HandPlace(question(SEAT, { required: ["seat"] }));
    place.next.push({ ended: "finished" });
    const visitor = visiting(place);
    const { hidden } = yield* visitor.get();
    const sent = yield* visitor.post({ ...hidden, f0: "1", action: "accept" });
    assert.equal(sent.status, 303);
    assert.equal(sent.headers.get("location"), "/parley/pages/abc?sent=accept");
    assert.deepEqual(place.answers.map(({ action, content }) => [action, content]), [
      ["accept", { seat: "aisle" }],
    ]);
    assert.match(
      (yield* visitor.get("?sent=accept")).text,
      /Your answer was sent.*close this tab/s,
    );
    const again = yield* visitor.post({ ...hidden, f0: "0", action: "accept" });
    assert.equal(again.headers.get("location"), "/parley/pages/abc?sent=again");
    assert.match((yield* visitor.get("?sent=again")).text, /answered before. The first answer/);
    assert.equal(place.answers.length, 1);
  });

  it("declines without looking at the fields", function* () {
    const place = new HandPlace(question(SEAT, { required: ["seat"] }));
    const visitor = visiting(place);
    const { hidden } = yield* visitor.get();
    assert.equal((yield* visitor.post({ ...hidden, action: "decline" })).status, 303);
    assert.deepEqual(place.answers.map(({ action, content }) => [action, content]), [
      ["decline", undefined],
    ]);
  });

  it("shows problems beside their fields, keeps what was entered, and takes the next try", function* () {
    const place = new HandPlace(
      question({ n: { type: "integer" }, pin: { type: "string" } }, {
        required: ["n"],
        sensitive: ["pin"],
      }),
    );
    const visitor = visiting(place);
    const { hidden } = yield* visitor.get();
    const wrong = yield* visitor.post({ ...hidden, f0: "many", f1: "s3cret", action: "accept" });
    assert.equal(wrong.status, 422);
    assert.match(wrong.text, /id="f0-problem">Expected a number/);
    assert.match(wrong.text, /name="f0" value="many"/);
    assert.doesNotMatch(wrong.text, /s3cret/);
    // The tool's own schema can find more.
    place.judge = ({ content }) =>
      content?.n === 3 ? { kind: "accepted" } : {
        kind: "invalid",
        problems: [{ field: "n", message: "expected 3" }, { message: "odd" }],
      };
    const more = yield* visitor.post({ ...wrong.hidden, f0: "4", f1: "s3cret", action: "accept" });
    assert.equal(more.status, 422);
    assert.match(more.text, /Expected 3\./);
    assert.match(more.text, /Odd\./);
    assert.doesNotMatch(more.text, /s3cret/);
    const right = yield* visitor.post({ ...more.hidden, f0: "3", f1: "s3cret", action: "accept" });
    assert.equal(right.status, 303);
    assert.deepEqual(place.answers[0]?.content, { n: 3, pin: "s3cret" });
  });

  it("refuses an answer from another site", function* () {
    const place = new HandPlace(question(SEAT));
    const visitor = visiting(place);
    const { hidden } = yield* visitor.get();
    const fields = { ...hidden, f0: "0", action: "accept" };
    for (
      const headers of [
        {},
        { origin: "null" },
        { origin: "https://evil.example" },
        { origin: "https://tools.example.evil.example" },
        { origin: ORIGIN, "sec-fetch-site": "cross-site" },
        { origin: ORIGIN, "sec-fetch-site": "same-site" },
        { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
      ]
    ) {
      assert.equal((yield* visitor.post(fields, headers as never)).status, 403);
    }
    assert.deepEqual(place.answers, []);
    const own: { [name: string]: string }[] = [
      { origin: ORIGIN, "sec-fetch-site": "same-origin" },
    ];
    for (const headers of own) assert.equal((yield* visitor.post(fields, headers)).status, 303);
  });

  it("asks again for what a form from before a restart says, and keeps it", function* () {
    const asked = question({ name: { type: "string" }, pin: { type: "string" } }, {
      sensitive: ["pin"],
    });
    const { hidden } = yield* visiting(new HandPlace(asked)).get();
    const place = new HandPlace(asked);
    const visitor = visiting(place);
    const late = yield* visitor.post({ ...hidden, f0: "Ada", f1: "s3cret", action: "accept" });
    assert.equal(late.status, 409);
    assert.match(late.text, /was not sent, because the form was out of date/);
    assert.match(late.text, /value="Ada"/);
    assert.doesNotMatch(late.text, /s3cret/);
    assert.deepEqual(place.answers, []);
    yield* visitor.post({ ...late.hidden, f0: "Ada", action: "accept" });
    assert.deepEqual(place.answers.map(({ content }) => content), [{ name: "Ada" }]);
  });

  it("never lets an old tab answer the next question of the same key", function* () {
    const place = new HandPlace(question(SEAT));
    place.next.push(question({ seat: { type: "string", enum: ["12A", "12B"] } }));
    const visitor = visiting(place);
    const [one, two] = [yield* visitor.get(), yield* visitor.get()];
    yield* visitor.post({ ...one.hidden, f0: "0", action: "accept" });
    const old = yield* visitor.post({ ...two.hidden, f0: "0", action: "accept" });
    assert.equal(old.status, 409);
    assert.match(old.text, /was not sent.*answered already.*Show the question that is open now/s);
    assert.equal(place.answers.length, 1);
    // Nor a form that is out of date: its values belong to other fields.
    const stale = yield* visitor.post({ token: "x", shown: two.hidden.shown!, f0: "1" });
    assert.doesNotMatch(stale.text, /value="1" checked/);
  });

  it("shows the next question in the same tab, as soon as it is asked", function* () {
    const place = new HandPlace(question(SEAT));
    const visitor = visiting(place);
    const { hidden } = yield* visitor.get();
    yield* visitor.post({ ...hidden, f0: "0", action: "accept" });
    const next = yield* spawn(() => visitor.get("?sent=accept"));
    yield* until(Promise.resolve());
    place.become(question({ ok: { type: "boolean" } }, { message: "Book it?" }));
    const { text } = yield* next;
    assert.match(text, /Your answer was sent\. Here is the next question/);
    assert.match(text, /Book it\?/);
  });

  it("waits for the next question only for a moment, and then looks again", function* () {
    const place = new HandPlace({ ended: "waiting" });
    const visitor = visiting(place);
    const page = yield* spawn(() => visitor.get("?sent=decline"));
    yield* until(Promise.resolve());
    visitor.clock.advance(2_000);
    const { text } = yield* page;
    assert.match(text, /You declined to answer.*You can close this tab/s);
    assert.match(text, /<noscript><meta http-equiv="refresh"/);
    assert.match(text, /data-watch="[^"]*changed\?seen=waiting" data-how="reload"/);
  });

  it("tells its script when what it shows is out of date", function* () {
    const place = new HandPlace(question(SEAT));
    const visitor = visiting(place);
    const { text } = yield* visitor.get();
    const path = /data-watch="\/parley\/pages\/abc([^"]+)"/.exec(text)![1]!;
    const quiet = yield* spawn(() => visitor.get(path));
    yield* until(Promise.resolve());
    visitor.clock.advance(25_000);
    assert.deepEqual(JSON.parse((yield* quiet).text), { changed: false });
    const heard = yield* spawn(() => visitor.get(path));
    yield* until(Promise.resolve());
    // Something that the page does not show.
    place.become(place.current());
    yield* until(Promise.resolve());
    place.become({ ended: "gone" });
    assert.deepEqual(JSON.parse((yield* heard).text), { changed: true });
    assert.deepEqual(JSON.parse((yield* visitor.get(path)).text), { changed: true });
    // What has ended is not waited for.
    const over = yield* visitor.get("/changed?seen=gone");
    assert.deepEqual(JSON.parse(over.text), { changed: false });
  });

  it("says why a question was closed in the meantime", function* () {
    const place = new HandPlace(question(SEAT));
    const visitor = visiting(place);
    const fields = { ...(yield* visitor.get()).hidden, f0: "0", action: "accept" };
    for (
      const [reason, words] of [
        ["answered", /has been answered already/],
        ["withdrawn", /no longer asks this/],
        ["expired", /time for an answer is over/],
        ["ended", /has ended or was cancelled/],
      ] as const
    ) {
      place.judge = () => ({ kind: "closed", reason });
      const { status, text } = yield* visitor.post(fields);
      assert.equal(status, 409);
      assert.match(text, words);
    }
    place.become({ ended: "gone" });
    const gone = yield* visitor.post(fields);
    assert.equal(gone.status, 410);
    assert.match(gone.text, /cancelled, or it has expired/);
    assert.equal((yield* visitor.get()).status, 410);
  });

  it("refuses requests that no browser sends", function* () {
    const place = new HandPlace(question(SEAT));
    const visitor = visiting(place);
    const { hidden } = yield* visitor.get();
    assert.equal((yield* visitor.post({ ...hidden, action: "cancel" })).status, 400);
    const own = { origin: ORIGIN };
    const json = { ...own, "content-type": "application/json" };
    assert.equal((yield* visitor.post(hidden, json)).status, 413);
    const huge = { ...own, "content-length": "999999999" };
    assert.equal((yield* visitor.post(hidden, huge)).status, 413);
    const respond = askingPage(place, {
      url: () => URL_OF_PAGE,
      deadlines: new Deadlines(createManualClock()),
    });
    const put = yield* respond(new Request(URL_OF_PAGE, { method: "PUT" }));
    assert.equal(put.status, 405);
    assert.equal(put.headers.get("allow"), "GET, HEAD, POST");
    assert.deepEqual(place.answers, []);
  });

  it("gives up on a body that does not arrive", function* () {
    const place = new HandPlace(question(SEAT));
    const clock = createManualClock();
    const respond = askingPage(place, { url: () => URL_OF_PAGE, deadlines: new Deadlines(clock) });
    const request = new Request(URL_OF_PAGE, {
      method: "POST",
      headers: {
        origin: ORIGIN,
        "content-type": "application/x-www-form-urlencoded",
        "content-length": "10",
      },
      body: new ReadableStream(),
      duplex: "half",
    } as RequestInit);
    const response = yield* spawn(() => respond(request));
    yield* until(Promise.resolve());
    clock.advance(30_000);
    assert.equal((yield* response).status, 413);
  });
});
