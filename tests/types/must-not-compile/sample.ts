// expect-error: Type 'undefined' is not assignable to type 'string'
// Indexing may miss, and an absent property is not an undefined one: the strict flags are on.
export const first: string = ["a"][0];
