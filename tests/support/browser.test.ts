import assert from "node:assert/strict";
import { spawn, suspend, until } from "effection";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { absence } from "../harness/system.ts";
import { describe, it } from "../suite.ts";
import { useBrowser } from "./browser.ts";

const inBrowser = it.unless(absence("browser"));

describe("useBrowser()", () => {
  inBrowser("fills in a form and follows its redirect", function* () {
    const server = createServer((request, response) => {
      response.setHeader("content-type", "text/html; charset=utf-8");
      if (request.url === "/") {
        response.end(`<form action="/said"><input name="word"><button>Send</button></form>`);
      } else response.end(`<p>You said ${new URL(request.url!, "http://x").search}</p>`);
    });
    try {
      server.listen(0, "127.0.0.1");
      yield* until(once(server, "listening"));
      const { port } = server.address() as AddressInfo;
      const browser = yield* useBrowser();
      const page = yield* until(browser.newPage());
      yield* until(page.goto(`http://127.0.0.1:${port}/`));
      yield* until(page.fill("input", "hello"));
      yield* until(page.click("button"));
      assert.equal(yield* until(page.textContent("p")), "You said ?word=hello");
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }, { within: 60_000 });

  inBrowser("ends with its scope", function* () {
    let closed = false;
    const ready = Promise.withResolvers<void>();
    const task = yield* spawn(function* () {
      const browser = yield* useBrowser();
      browser.on("close", () => closed = true);
      ready.resolve();
      yield* suspend();
    });
    yield* until(ready.promise);
    yield* task.halt();
    assert.equal(closed, true);
  }, { within: 60_000 });
});
