/** Returns the page with new text between the two marks of this name. */
export function withBlock(page: string, name: string, text: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [start, end] = [page.indexOf(open), page.indexOf(close)];
  if (start < 0 || end < start) {
    throw new Error(`Cannot write "${name}": the page has no ${open} and ${close}; add them again`);
  }
  return `${page.slice(0, start)}${open}\n\n${text}\n\n${page.slice(end)}`;
}
