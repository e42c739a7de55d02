/** Error codes of JSON-RPC 2.0 and of MCP. */

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/**
 * Legacy era: the server has no capacity for the request. Revision 2026-07-28 reserves the codes
 * from -32000 to -32099, so the modern era cannot use this one.
 */
export const SERVER_BUSY = -32000;
/** Legacy era: the client session does not exist. */
export const SESSION_NOT_FOUND = -32001;
/** Revisions up to 2025-11-25: the resource does not exist. Later revisions use INVALID_PARAMS. */
export const RESOURCE_NOT_FOUND = -32002;

/** Modern era: a header does not match the message body. */
export const HEADER_MISMATCH = -32020;
/** Modern era: the client lacks a capability that the call needs. */
export const MISSING_CAPABILITY = -32021;
/** Modern era: the server does not support the protocol version. */
export const UNSUPPORTED_VERSION = -32022;
