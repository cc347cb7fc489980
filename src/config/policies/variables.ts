import { isPlain } from '../../core/options/merge.ts'
import { nearest } from '../../core/options/nearest.ts'
import type { Form } from '../../core/options/rules.ts'
import type { Env } from '../substitute.ts'
import type { ConfigSource, LocatedFault } from '../yaml-source.ts'
import { fileNames, formFor, optionName } from './form-reader.ts'

/** `LAZARET_POLICIES__CHANNELS__ORDERS__TIMEOUT=10s` sets `channels.orders.timeout`. */
const VARIABLE_PREFIX = 'LAZARET_POLICIES__'

type Tree = Record<string, unknown>

/**
 * Puts variables of the environment over the policies of a source. Names of options and of existing channels, handlers,
 * sinks and calls match without regard to case and punctuation, because many shells allow only letters, digits and `_`.
 */
export function withVariables(
  source: ConfigSource,
  steps: readonly string[],
  form: Form,
  env: Env,
): ConfigSource {
  const names = Object.keys(env).filter(name => name.startsWith(VARIABLE_PREFIX) && env[name] !== undefined)
  if (names.length === 0) return source
  const faults: LocatedFault[] = [...source.faults]
  const root = structuredCloneOf(source.value)
  const set: { readonly name: string; readonly path: readonly string[] }[] = []
  for (const name of names.sort()) {
    const words = name.slice(VARIABLE_PREFIX.length).split('__')
    const value = parseValue(env[name]!)
    const path = value === undefined ? undefined : put(treeAt(root, steps), words, value, form)
    if (path === undefined || path instanceof UnknownPart)
      faults.push({ line: undefined, path: name, ...faultOf(path) })
    else set.push({ name, path: [...steps, ...path] })
  }
  const variableOf = (path: readonly string[]) =>
    set.find(each => each.path.every((step, index) => step === path[index]))?.name
  return {
    faults,
    value: root,
    variableOf,
    lineOf: path => source.lineOf(path),
    originOf: path => (variableOf(path) === undefined ? source.originOf(path) : 'environment'),
  }
}

/** Lists and maps are JSON. Undefined if a text looks like JSON and is not. */
function parseValue(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The part of a variable's name that does not name an option, and the names that can be in its place. */
class UnknownPart {
  readonly word: string
  readonly known: readonly string[]
  readonly #takesJson: boolean

  constructor(word: string, form: Form | undefined) {
    this.word = word
    this.#takesJson = takesJson(form)
    this.known = form?.kind === 'fields' ? fileNames(form.fields) : []
  }

  get remedy(): string {
    if (isEmptyPart(this.word)) return 'one of its parts is empty'
    const near = nearest(this.word, this.known)
    if (near !== undefined) return `'${this.word}' may be meant as '${near}'`
    if (this.known.length > 0) return `known in place of '${this.word}' are ${this.known.join(', ')}`
    return this.#takesJson
      ? `remove '${this.word}', and give the whole option before it as JSON`
      : `remove '${this.word}', because the option before it has no parts`
  }
}

/** Names of channels and options have a letter or a digit. */
function isEmptyPart(word: string): boolean {
  return /^_*$/.test(word)
}

/** Options that have several forms, such as a backoff, cannot be set part by part. */
function takesJson(form: Form | undefined): boolean {
  if (form?.kind === 'either') return form.forms.some(takesJson)
  return form?.kind === 'list' || form?.kind === 'fields' || form?.kind === 'map'
}

/** Undefined stands for a value that is not valid JSON. */
function faultOf(unknown: UnknownPart | undefined): Pick<LocatedFault, 'received' | 'remedy'> {
  if (unknown === undefined)
    return { received: 'a hidden value', remedy: 'give valid JSON for a list or a map' }
  return { received: 'a variable that names no option', remedy: `correct its name; ${unknown.remedy}` }
}

/** Sets a value in the tree. Returns its path, or the part of it that the form does not have. */
function put(
  tree: Tree,
  [word = '', ...rest]: readonly string[],
  value: unknown,
  given: Form | undefined,
): readonly string[] | UnknownPart {
  const form = given?.kind === 'either' ? formFor(tree, given.forms) : given
  const { key, inner } = keyIn(tree, word, form)
  if (key === undefined || isEmptyPart(word)) return new UnknownPart(word, form ?? given)
  if (rest.length === 0) {
    for (const other of [`${key}Ms`, key.replace(/Ms$/, '')]) if (other !== key) delete tree[other]
    tree[key] = value
    return [key]
  }
  const below: Tree = isPlain(tree[key]) ? (tree[key] as Tree) : {}
  const path = put(below, rest, value, inner)
  if (path instanceof UnknownPart) return path
  tree[key] = below
  return [key, ...path]
}

function keyIn(
  tree: Tree,
  word: string,
  form: Form | undefined,
): { readonly key: string | undefined; readonly inner: Form | undefined } {
  if (form?.kind === 'map') {
    const known = Object.keys(tree).find(name => bare(name) === bare(word))
    return { key: known ?? word.toLowerCase(), inner: form.value }
  }
  if (form?.kind !== 'fields') return { key: undefined, inner: undefined }
  const names = [...fileNames(form.fields), ...Object.keys(form.fields)]
  const key = names.find(name => bare(name) === bare(word))
  const name = key === undefined ? undefined : optionName(form.fields, key)
  return { key, inner: name === undefined ? undefined : form.fields[name]?.form }
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z\d]/g, '')
}

function treeAt(root: Tree, steps: readonly string[]): Tree {
  let tree = root
  for (const step of steps) {
    if (!isPlain(tree[step])) tree[step] = {}
    tree = tree[step] as Tree
  }
  return tree
}

/** A copy of the maps alone: an object may hold values of code, such as backoffs. */
function structuredCloneOf(value: unknown): Tree {
  if (!isPlain(value)) return {}
  const copies = Object.entries(value).map(([name, each]) => [
    name,
    isPlain(each) ? structuredCloneOf(each) : each,
  ])
  return Object.fromEntries(copies) as Tree
}
