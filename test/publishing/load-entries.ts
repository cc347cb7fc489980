import { registerHooks } from 'node:module'

// Loads the entries of the package in a process of its own: node load-entries.ts URL… It prints how many files the first
// entry is, and the names that are another class in another entry: what one entry throws, the other would not recognise.

let files = 0
registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:')) files++
    return nextLoad(url, context)
  },
})

const [first, ...others] = process.argv.slice(2)
const loaded: Readonly<Record<string, unknown>>[] = [await import(first!)]
const filesOfFirst = files
for (const entry of others) loaded.push(await import(entry))

// Two adapters may each have an error of that name, but with a text of its own.
const classes = new Map<string, Set<unknown>>()
for (const [name, value] of loaded.flatMap(entry => Object.entries(entry)))
  if (typeof value === 'function' && /^[A-Z]/.test(name))
    classes.set(`${name} ${value}`, (classes.get(`${name} ${value}`) ?? new Set()).add(value))
const severalClasses = [...classes].filter(([, found]) => found.size > 1).map(([name]) => name)
process.stdout.write(JSON.stringify({ filesOfFirst, severalClasses }))
