/** Likes and live counts of a Plaudit server, without a framework. */

export type { Outcome } from "./edge.js";
export type { Action, CountedObject, Ref, Type } from "./entities.js";
export type { Shown } from "./entity.js";
export { type GraphQLProblem, type OwnCode, PlauditError } from "./errors.js";
export type { Payload, Result, Sink } from "./connection.js";
export { type Keep, type Storage, keepFor } from "./keep.js";
export type { ConnectionState } from "./line.js";
export { type Plaudit, type PlauditOptions, type Source, createPlaudit } from "./plaudit.js";
export { type GivenToken, type Token, type Tokens, createTokens } from "./token.js";
export { type CountName, type Counts, type Latest, Newest } from "./versions.js";
