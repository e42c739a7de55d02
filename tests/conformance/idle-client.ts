/** A client that does nothing. */
