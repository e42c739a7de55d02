/** The person has had enough. */
import { Problem } from "../problem.ts";

export class Stopped extends Problem {
  constructor() {
    super("Stopped.", 130);
  }
}
