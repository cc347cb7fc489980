import { registerHooks } from 'node:module'

// Examples import the package by its name, as whoever uses it does. Run by a test, they get its source instead of what
// was built last: node --import test/support/from-source.ts examples/…
registerHooks({
  resolve(specifier, context, resolveNext) {
    const [whole, subpath] = /^lazaret(?:\/(\w+))?$/.exec(specifier) ?? []
    if (whole === undefined) return resolveNext(specifier, context)
    const source = subpath === undefined ? 'src/index.ts' : `src/adapters/${subpath}/index.ts`
    return resolveNext(new URL(`../../${source}`, import.meta.url).href, context)
  },
})
