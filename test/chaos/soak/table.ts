/** A row of a Markdown table. */
export function rowOf(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`
}

/** The row below the heads. The first column has names, the others numbers. */
export function rule(columns: number): string {
  return rowOf(Array.from({ length: columns }, (_, index) => (index === 0 ? '---' : '---:')))
}
