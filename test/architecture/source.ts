import { posix } from 'node:path'
import {
  type ImportDeclaration,
  isBindingElement,
  isCallExpression,
  isElementAccessExpression,
  isExportDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNamedImports,
  isNewExpression,
  isObjectBindingPattern,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isStringLiteral,
  isTypeNode,
  isVariableDeclaration,
  type Node,
  type ObjectLiteralExpression,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast'

/** What the rules need to know of one file. */
export type Source = {
  readonly path: string
  /** The folder below `src`; empty for a file that lies in none. */
  readonly layer: string
  readonly imports: readonly Import[]
  readonly uses: readonly Use[]
  readonly keys: readonly Key[]
}

export type Import = {
  readonly line: number
  readonly specifier: string
  /** Where a relative specifier leads, as `src/folder/file.ts`. */
  readonly target: string | undefined
}

/**
 * A name that code evaluates, with the path to it: `process.env.HOME`. What is imported from a
 * package carries the package's name: `import { env } from 'node:process'` uses `process.env`.
 */
export type Use = {
  readonly line: number
  readonly name: string
  readonly how: 'read' | 'called' | 'constructed'
  readonly argumentCount: number
  /** Keys of the object literals among the arguments. */
  readonly options: readonly string[]
}

/** A key of an object literal, and whether its value is written out as an object or a list. */
export type Key = { readonly line: number; readonly name: string; readonly structured: boolean }

export function readSource(path: string, file: SourceFile): Source {
  const imports: Import[] = []
  const uses: Use[] = []
  const keys: Key[] = []
  /** Local name of a whole imported package → the package. */
  const packages = new Map<string, string>()
  visit(file, false)
  return { path, layer: /^src\/([^/]+)\//.exec(path)?.[1] ?? '', imports, uses, keys }

  function visit(node: Node, inType: boolean): void {
    const specifier = importedFrom(node)
    if (specifier !== undefined) addImport(node, specifier)
    if (isImportDeclaration(node)) {
      addImportedNames(node)
      return
    }
    if (!inType) {
      addKey(node)
      addUse(node)
    }
    node.forEachChild((child) => visit(child, inType || isTypeNode(child)))
  }

  function addImport(node: Node, specifier: string): void {
    const target = specifier.startsWith('.')
      ? posix.normalize(posix.join(posix.dirname(path), specifier))
      : undefined
    imports.push({ line: lineOf(node), specifier, target })
  }

  function addImportedNames({ moduleSpecifier, importClause }: ImportDeclaration): void {
    if (!importClause || importClause.phaseModifier === SyntaxKind.TypeKeyword) return
    const packageName = literal(moduleSpecifier)?.replace(/^node:/, '') ?? ''
    const { name, namedBindings } = importClause
    if (name) packages.set(name.text, packageName)
    if (!namedBindings) return
    if (!isNamedImports(namedBindings)) {
      packages.set(namedBindings.name.text, packageName)
      return
    }
    for (const element of namedBindings.elements) {
      if (element.isTypeOnly) continue
      push(element, `${packageName}.${keyText(element.propertyName ?? element.name)}`)
    }
  }

  function addKey(node: Node): void {
    if (isShorthandPropertyAssignment(node)) {
      keys.push({ line: lineOf(node), name: keyText(node.name), structured: false })
    } else if (isPropertyAssignment(node)) {
      const value = node.initializer.kind
      const structured =
        value === SyntaxKind.ObjectLiteralExpression || value === SyntaxKind.ArrayLiteralExpression
      keys.push({ line: lineOf(node), name: keyText(node.name), structured })
    }
  }

  function addUse(node: Node): void {
    if (isVariableDeclaration(node) && isObjectBindingPattern(node.name) && node.initializer) {
      const whole = pathTo(node.initializer)
      for (const element of node.name.elements) {
        const part = element.propertyName ?? element.name
        if (part && whole) push(element, `${whole}.${keyText(part)}`)
      }
    }
    const name = isNameOnly(node) || isPartOfLongerPath(node) ? undefined : pathTo(node)
    if (name) push(node, name)
  }

  function push(node: Node, name: string): void {
    const outer = node.parent
    const invoked =
      (isCallExpression(outer) || isNewExpression(outer)) && outer.expression === node
        ? outer
        : undefined
    const args = invoked?.arguments ?? []
    uses.push({
      line: lineOf(node),
      name: name.replace(/^globalThis\./, ''),
      how: invoked ? (isNewExpression(invoked) ? 'constructed' : 'called') : 'read',
      argumentCount: args.length,
      options: args.flatMap((one) => (isObjectLiteralExpression(one) ? keysOf(one) : [])),
    })
  }

  /** `a.b.c` for that expression; `.b.c` where it begins with something that has no name. */
  function pathTo(node: Node): string | undefined {
    if (isIdentifier(node)) return packages.get(node.text) ?? node.text
    if (isPropertyAccessExpression(node)) {
      return `${pathTo(node.expression) ?? ''}.${node.name.text}`
    }
    const key = isElementAccessExpression(node) ? literal(node.argumentExpression) : undefined
    if (isElementAccessExpression(node) && key !== undefined) {
      return `${pathTo(node.expression) ?? ''}.${key}`
    }
    const inner = wrapped(node)
    return inner && pathTo(inner)
  }

  function lineOf(node: Node): number {
    return file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
  }
}

/** The specifier of any form of import: statement, re-export, `import()` and the type of that name. */
function importedFrom(node: Node): string | undefined {
  if (isImportDeclaration(node)) return literal(node.moduleSpecifier)
  if (isExportDeclaration(node) && node.moduleSpecifier) return literal(node.moduleSpecifier)
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument))
    return literal(node.argument.literal)
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    return node.arguments[0] && literal(node.arguments[0])
  }
  return undefined
}

/** Identifiers that name something new, or a member, instead of reading a variable. */
function isNameOnly(node: Node): boolean {
  const { parent } = node
  if (!isIdentifier(node) || !parent || isShorthandPropertyAssignment(parent)) return false
  if (isBindingElement(parent) && parent.propertyName === node) return true
  return 'name' in parent && parent.name === node
}

function isPartOfLongerPath(node: Node): boolean {
  const { parent } = node
  if (!parent) return false
  return (
    (isPropertyAccessExpression(parent) ||
      (isElementAccessExpression(parent) && literal(parent.argumentExpression) !== undefined)) &&
    parent.expression === node
  )
}

/** The expression inside parentheses, `!`, `as` or `satisfies`, none of which changes its value. */
function wrapped(node: Node): Node | undefined {
  switch (node.kind) {
    case SyntaxKind.ParenthesizedExpression:
    case SyntaxKind.NonNullExpression:
    case SyntaxKind.AsExpression:
    case SyntaxKind.SatisfiesExpression:
      return node.forEachChild((child) => child)
    default:
      return undefined
  }
}

function keysOf(object: ObjectLiteralExpression): string[] {
  return object.properties.flatMap((property) =>
    'name' in property && property.name ? [keyText(property.name)] : [],
  )
}

function keyText(node: Node): string {
  return isIdentifier(node) ? node.text : (literal(node) ?? '')
}

function literal(node: Node): string | undefined {
  return isStringLiteral(node) ? node.text : undefined
}
