import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type ESTree, parseSync } from 'vite'
import { ROOT } from './source.ts'

export interface OptionField {
  /** Where the field is: `src/path.ts OptionsType.field`. */
  readonly place: string
  readonly isDocumented: boolean
}

interface Module {
  readonly text: string
  readonly declarations: ReadonlyMap<string, ESTree.Node>
  /** Local names of imports, and names re-exported from another file. */
  readonly links: ReadonlyMap<string, Link>
}

interface Link {
  readonly path: string
  readonly name: string
}

/** Parts of a declaration without public types: function bodies and private members. */
const PRIVATE_PARTS = new Set(['BlockStatement', 'FunctionBody', 'StaticBlock'])

/** The fields of all option types that the entries of package.json export or refer to. */
export function optionFields(): OptionField[] {
  const modules = new Map<string, Module>()
  const load = (path: string): Module => {
    const loaded = modules.get(path) ?? parseModule(path)
    modules.set(path, loaded)
    return loaded
  }
  const queue: Link[] = entries().flatMap(path => [
    ...load(path).links.values(),
    ...[...load(path).declarations.keys()].map(name => ({ path, name })),
  ])
  const seen = new Set<string>()
  const fields: OptionField[] = []
  for (const link of queue) {
    const { path, name } = link
    if (seen.has(`${path} ${name}`)) continue
    seen.add(`${path} ${name}`)
    const { text, declarations, links } = load(path)
    const declaration = declarations.get(name)
    if (declaration === undefined) {
      const target = links.get(name)
      if (target !== undefined) queue.push(target)
      continue
    }
    if (name.endsWith('Options')) fields.push(...fieldsOf(declaration, text, `${path} ${name}`))
    for (const used of typeNames(declaration)) queue.push({ path, name: used })
  }
  return fields
}

function entries(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return Object.values<{ types: string } | string>(manifest.exports).flatMap(target =>
    typeof target === 'string' ? [] : [target.types.replace('./dist/', 'src/').replace('.d.ts', '.ts')],
  )
}

function parseModule(path: string): Module {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const declarations = new Map<string, ESTree.Node>()
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
    if (declaration === null) continue
    if (declaration.type === 'VariableDeclaration') {
      for (const variable of declaration.declarations)
        if (variable.id.type === 'Identifier') declarations.set(variable.id.name, variable)
    } else if ('id' in declaration && declaration.id?.type === 'Identifier') {
      declarations.set(declaration.id.name, declaration)
    }
  }
  return { text, declarations, links }
}

function nameOf(name: ESTree.ModuleExportName): string {
  return name.type === 'Literal' ? name.value : name.name
}

/** The fields of an interface or of the literals in a type alias, with those of literals nested in them. */
function fieldsOf(declaration: ESTree.Node, text: string, place: string): OptionField[] {
  return signaturesIn(declaration).flatMap(field => {
    const name = text.slice(field.key.start, field.key.end)
    const own = { place: `${place}.${name}`, isDocumented: hasJsDoc(text, field.start) }
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

function childrenOf(node: ESTree.Node): ESTree.Node[] {
  return Object.values(node)
    .flat()
    .filter(value => typeof value === 'object' && value !== null && 'type' in value)
}

/** An editor shows the JSDoc comment directly above a field. */
function hasJsDoc(text: string, start: number): boolean {
  const before = text.slice(0, start).trimEnd()
  return before.endsWith('*/') && before.lastIndexOf('/*') === before.lastIndexOf('/**')
}
