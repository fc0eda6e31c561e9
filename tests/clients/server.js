// The server under test.

for (const name of ["PLAUDIT_URL", "PLAUDIT_TOKEN"]) {
  if (!process.env[name]) throw new Error(`${name} is not set: run these tests by run.sh`);
}

/** Scheme, host and port. */
export const baseUrl = new URL(process.env.PLAUDIT_URL).origin;
export const graphqlUrl = `${baseUrl}/graphql`;
/** A user's token, without "Bearer". */
export const token = process.env.PLAUDIT_TOKEN;
