import { registerHooks } from 'node:module'

const INTEGRATIONS = ['jobs', 'requests', 'pino']

// Examples import the package by its name, as users do. In a test they get its source instead of the last build: node
// --import test/support/from-source.ts examples/…
registerHooks({
  resolve(specifier, context, resolveNext) {
    const [whole, subpath] = /^lazaret(?:\/(\w+))?$/.exec(specifier) ?? []
    if (whole === undefined) return resolveNext(specifier, context)
    const room = INTEGRATIONS.includes(subpath ?? '') ? 'integrations' : 'adapters'
    const source = subpath === undefined ? 'src/index.ts' : `src/${room}/${subpath}/index.ts`
    return resolveNext(new URL(`../../${source}`, import.meta.url).href, context)
  },
})
