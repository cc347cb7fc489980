import type { TestFunction } from '../../src/testing/conformance/harness.ts'

/** The names of a suite's tests that fail, of those whose name contains the text. */
export async function failing(define: (test: TestFunction) => void, nameContains: string): Promise<string[]> {
  const tests: { readonly name: string; readonly run: () => Promise<void> }[] = []
  const test = Object.assign((name: string, run: () => Promise<void>) => tests.push({ name, run }), {
    skip: () => {},
  })
  define(test)
  const chosen = tests.filter(({ name }) => name.includes(nameContains))
  if (chosen.length === 0) throw new Error(`the suite has no test named like '${nameContains}'`)
  const failed: string[] = []
  for (const { name, run } of chosen) await run().catch(() => failed.push(name))
  return failed
}

/** The same thing with some of its methods replaced. */
export function changed<T extends object>(whole: T, change: (whole: T) => Partial<T>): T {
  const replaced = change(whole)
  return new Proxy(whole, {
    get(target, name) {
      const source = Object.hasOwn(replaced, name) ? replaced : target
      const value: unknown = Reflect.get(source, name)
      return typeof value === 'function' ? value.bind(source) : value
    },
  })
}
