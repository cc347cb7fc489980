import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type ESTree, parseSync } from 'vite'
import { ROOT } from './source.ts'

export interface OptionField {
  /** Where the field is: `src/path.ts OptionsType.field`. */
  readonly place: string
  readonly isOptional: boolean
  /** The JSDoc comment above the field; empty if there is none. */
  readonly doc: string
}

export interface ExportedName {
  /** Where it is declared: `src/path.ts name`. */
  readonly place: string
  readonly isDocumented: boolean
}

interface Module {
  readonly path: string
  readonly text: string
  readonly declarations: ReadonlyMap<string, Declaration>
  /** Local names of imports, and names re-exported from another file. */
  readonly links: ReadonlyMap<string, Link>
}

interface Declaration {
  readonly node: ESTree.Node
  readonly isDocumented: boolean
}

interface Link {
  readonly path: string
  readonly name: string
}

interface Found extends Declaration {
  readonly module: Module
  readonly name: string
}

/** Parts of a declaration without public types: function bodies and private members. */
const PRIVATE_PARTS = new Set(['BlockStatement', 'FunctionBody', 'StaticBlock'])
const TYPES = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'])

const modules = new Map<string, Module>()

/**
 * The fields of all option types that the entries of package.json export or refer to, and of the types of these fields. A
 * type with methods is a port: the comment above it is its contract.
 */
export function optionFields(): OptionField[] {
  const options = reachable(entryLinks(), typeNames).filter(isOptions)
  const links = options.flatMap(({ node, module: { path } }) =>
    givenTypeNames(node).map(name => ({ path, name })),
  )
  const given = reachable(links, () => []).filter(found => !isOptions(found) && !hasMethods(found.node))
  return [...options, ...given]
    .filter(({ node }) => TYPES.has(node.type))
    .flatMap(({ node, module: { path, text }, name }) => fieldsOf(node, text, `${path} ${name}`))
}

function isOptions({ name }: Found): boolean {
  return name.endsWith('Options')
}

/** What the entries of package.json export, each declaration once. */
export function exportedNames(): ExportedName[] {
  return reachable(entryLinks(), () => []).map(({ module: { path }, name, isDocumented }) => ({
    place: `${path} ${name}`,
    isDocumented,
  }))
}

/** The declarations behind the links, and those that they refer to, each once. */
function reachable(links: readonly Link[], namesIn: (node: ESTree.Node) => string[]): Found[] {
  const queue = [...links]
  const seen = new Set<string>()
  const found: Found[] = []
  for (const { path, name } of queue) {
    if (seen.has(`${path} ${name}`)) continue
    seen.add(`${path} ${name}`)
    const module = load(path)
    const declaration = module.declarations.get(name)
    const link = module.links.get(name)
    if (declaration !== undefined) {
      found.push({ ...declaration, module, name })
      queue.push(...namesIn(declaration.node).map(used => ({ path, name: used })))
    } else if (link !== undefined) {
      queue.push(link)
    }
  }
  return found
}

function load(path: string): Module {
  const module = modules.get(path) ?? parseModule(path)
  modules.set(path, module)
  return module
}

function entryLinks(): Link[] {
  return entries().flatMap(path => [...load(path).links.keys()].map(name => ({ path, name })))
}

function entries(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return Object.values<{ types: string } | string>(manifest.exports).flatMap(target =>
    typeof target === 'string' ? [] : [target.types.replace('./dist/', 'src/').replace('.d.ts', '.ts')],
  )
}

function parseModule(path: string): Module {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const declarations = new Map<string, Declaration>()
  const links = new Map<string, Link>()
  const targetOf = (specifier: string) => posix.join(posix.dirname(path), specifier)
  for (const statement of parseSync(path, text).program.body) {
    if (statement.type === 'ImportDeclaration' && statement.source.value.startsWith('.')) {
      for (const part of statement.specifiers)
        if (part.type === 'ImportSpecifier')
          links.set(part.local.name, { path: targetOf(statement.source.value), name: nameOf(part.imported) })
    } else if (statement.type === 'ExportNamedDeclaration' && statement.source !== null) {
      for (const part of statement.specifiers)
        links.set(nameOf(part.exported), { path: targetOf(statement.source.value), name: nameOf(part.local) })
    }
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    const isDocumented = jsDocAbove(text, statement.start) !== ''
    if (declaration === null) continue
    if (declaration.type === 'VariableDeclaration') {
      for (const variable of declaration.declarations)
        if (variable.id.type === 'Identifier')
          declarations.set(variable.id.name, { node: variable, isDocumented })
    } else if ('id' in declaration && declaration.id?.type === 'Identifier') {
      const { name } = declaration.id
      // The first signature of an overloaded function carries the comment.
      const isFirstDocumented = declarations.get(name)?.isDocumented ?? isDocumented
      declarations.set(name, { node: declaration, isDocumented: isFirstDocumented })
    }
  }
  return { path, text, declarations, links }
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

/** The fields of an interface or of the literals in a type alias, with those of literals nested in them. */
function fieldsOf(declaration: ESTree.Node, text: string, place: string): OptionField[] {
  return signaturesIn(declaration).flatMap(field => {
    const name = text.slice(field.key.start, field.key.end)
    const doc = jsDocAbove(text, field.start)
    const own = { place: `${place}.${name}`, isOptional: field.optional, doc }
    const inner = field.type === 'TSPropertySignature' ? field.typeAnnotation : field.returnType
    return inner ? [own, ...fieldsOf(inner, text, `${place}.${name}`)] : [own]
  })
}

function signaturesIn(node: ESTree.Node): (ESTree.TSPropertySignature | ESTree.TSMethodSignature)[] {
  return childrenOf(node).flatMap(child =>
    child.type === 'TSPropertySignature' || child.type === 'TSMethodSignature'
      ? [child]
      : signaturesIn(child),
  )
}

/** Names of types that a declaration uses in its public part. */
function typeNames(node: ESTree.Node): string[] {
  if (PRIVATE_PARTS.has(node.type) || ('key' in node && node.key?.type === 'PrivateIdentifier')) return []
  const own: string[] = []
  if (node.type === 'TSTypeReference' && node.typeName.type === 'Identifier') own.push(node.typeName.name)
  if (node.type === 'TSInterfaceHeritage' && node.expression.type === 'Identifier')
    own.push(node.expression.name)
  return [...own, ...childrenOf(node).flatMap(typeNames)]
}

/** Names of the types that a user gives: of fields, and of what functions return, but not of their parameters. */
function givenTypeNames(node: ESTree.Node): string[] {
  if (node.type === 'TSFunctionType') return givenTypeNames(node.returnType)
  const own: string[] = []
  if (node.type === 'TSTypeReference' && node.typeName.type === 'Identifier') own.push(node.typeName.name)
  if (node.type === 'TSInterfaceHeritage' && node.expression.type === 'Identifier')
    own.push(node.expression.name)
  return [...own, ...childrenOf(node).flatMap(givenTypeNames)]
}

function hasMethods(node: ESTree.Node): boolean {
  return signaturesIn(node).some(({ type }) => type === 'TSMethodSignature')
}

function childrenOf(node: ESTree.Node): ESTree.Node[] {
  return Object.values(node)
    .flat()
    .filter(value => typeof value === 'object' && value !== null && 'type' in value)
}

/** An editor shows the JSDoc comment directly above a field or declaration. Line comments may stand between them. */
function jsDocAbove(text: string, start: number): string {
  let before = text.slice(0, start).trimEnd()
  for (let line = lastLine(before); line.startsWith('//'); line = lastLine(before))
    before = before.slice(0, -line.length).trimEnd()
  const from = before.lastIndexOf('/*')
  return before.endsWith('*/') && before.startsWith('/**', from) ? before.slice(from) : ''
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1).trimStart()
}
