/** Everything once, to its end, on a real network, in a real browser, over each transport. */
import assert from "node:assert/strict";
import { type Operation, until } from "effection";
import type { BrowserContext, Page } from "playwright-core";
import {
  APP_PASSWORD_NAME,
  type BlueskyAccount,
  type BlueskyNetwork,
  useBlueskyNetwork,
} from "../../bluesky-net/network.ts";
import { absence } from "../../harness/system.ts";
import { describe, it } from "../../suite.ts";
import { useBrowser } from "../../support/browser.ts";
import { useFolder } from "../../support/folder.ts";
import { type Assistant, CLIENTS, useAssistant } from "./assistant.ts";
import { type Served, type Way, WAYS } from "./servers.ts";

const onNetwork = it.unless(absence("bluesky"));
const inBrowser = it.unless(absence("bluesky", "browser"));
const LONG = { within: 120_000 };

interface World {
  readonly network: BlueskyNetwork;
  readonly person: BlueskyAccount;
  readonly served: Served;
  readonly assistant: Assistant;
}

function* useWorld(way: Way, can: keyof typeof CLIENTS): Operation<World> {
  const network = yield* useBlueskyNetwork();
  const person = yield* until(network.createAccount());
  const folder = yield* useFolder();
  const served = yield* way.use(network, folder);
  const assistant = yield* useAssistant(served.address, way.era, can);
  return { network, person, served, assistant };
}

/** Signs in at the PDS, as a person does who was sent there, and agrees. */
async function consentAt(page: Page, { handle, password }: BlueskyAccount): Promise<void> {
  await page.getByRole("button", { name: /sign in/i }).first().click().catch(() => {});
  await page.locator('input[name="username"]').fill(handle);
  await page.locator('input[name="password"]').fill(password);
  await page.locator('form button[type="submit"]').click();
  await page.getByRole("button", { name: /authorize|accept|allow/i }).click();
}

for (const way of WAYS) {
  describe(`Bluesky over ${way.name}`, () => {
    onNetwork("signs in with an app password that a form asks for", function* () {
      const { assistant, person } = yield* useWorld(way, "form");
      const { handle, appPassword } = person;
      assistant.answer = ({ requestedSchema }) =>
        "way" in requestedSchema!.properties
          ? { action: "accept", content: { way: "app-password" } }
          : { action: "accept", content: { handle, password: appPassword } };
      const { text, data, isError } = yield* until(assistant.call("login"));
      assert.equal(isError, false, text);
      assert.equal(data.signedIn, person.did);
      assert.match(text, new RegExp(`You are signed in to Bluesky as @${handle}`));
      assert.equal(data.accounts[0].mainPassword, false);
    }, LONG);

    inBrowser("signs in with OAuth, to its end", function* () {
      const { assistant, person } = yield* useWorld(way, "url");
      const browser = yield* useBrowser();
      const page = yield* until(browser.newPage());
      assistant.answer = async ({ url }) => {
        await page.goto(url!);
        await page.getByRole("link", { name: /recommended/ }).click();
        await consentAt(page, person);
        await page.getByText(`You are signed in as @${person.handle}`).waitFor();
        return { action: "accept" };
      };
      const { text, data, isError } = yield* until(assistant.call("login"));
      assert.equal(isError, false, text);
      assert.equal(data.signedIn, person.did);
      const shown = yield* until(assistant.call("profile"));
      assert.equal(shown.data?.handle, person.handle, shown.text);
    }, LONG);
  });
}
