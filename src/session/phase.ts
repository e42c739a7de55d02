/** The phases of a session, in order. A session moves forward through them, and never back. */

/** The phases of a session. A running session is parked while it waits only for answers or time. */
export enum Phase {
  created,
  running,
  /** The run is being halted, and runs its `finally` blocks. The session ends after that. */
  halting,
  /** The run is being suspended, and runs its `finally` blocks. Nothing is recorded. */
  suspending,
  /** The run has left memory. The session can resume from its log. */
  suspended,
  /** The run is over. Its final event is being recorded. */
  ending,
  /** The final event is recorded. */
  ended,
}
