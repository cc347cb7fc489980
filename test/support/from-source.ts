import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly default?: string }>>
}

// Examples import the package by its name, as users do. In a test they get its source instead of the last build: node
// --import test/support/from-source.ts examples/…
registerHooks({
  resolve(specifier, context, resolveNext) {
    const isPackage = specifier === 'lazaret' || specifier.startsWith('lazaret/')
    const built = isPackage ? exports[specifier.replace('lazaret', '.')]?.default : undefined
    if (built === undefined) return resolveNext(specifier, context)
    const source = built.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    const { href } = new URL(source, root)
    // `require` takes a path, and loads ESM too.
    return resolveNext(context.conditions?.includes('require') ? fileURLToPath(href) : href, context)
  },
})
