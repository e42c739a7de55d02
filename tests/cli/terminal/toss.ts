/** A game in which the model begins. */
import { createPlayTtt } from "../../../tools/play_ttt.ts";

export const playTtt = createPlayTtt(() => 0.9);
