// Finds what the house does not say: each function takes a parsed file and gives the places, as `path:line: what`.
import ts from 'typescript'
import { METHOD, REVISIONS } from '../../src/spec/index.ts'
import { commentsOf, nodesOf, placeOf } from './sources.ts'

const METHODS = new Set<string>([
  ...REVISIONS.flatMap((revision) => Object.keys(revision.methods)),
  ...Object.values(METHOD),
])
const FAMILIES = [...new Set([...METHODS].flatMap((method) => method.match(/^.+\//) ?? []))]
const REVISION_IDS = new Set<string>(REVISIONS.map(({ id }) => id))
const RELATIONAL = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
])

/**
 * Names of methods. A name that is also a plain word, `initialize` or `ping`, counts where it stands beside something that is
 * called a method: the probe's two questions have names too.
 */
export function methodNames(file: ts.SourceFile): string[] {
  return literalsOf(file)
    .filter(
      ({ node, text }) => METHODS.has(text) && !isKey(node) && (text.includes('/') || isBesideMethod(node)),
    )
    .map(({ node, text }) => `${placeOf(node)}: ${text}`)
}

/** Names of methods that are put together from parts. */
export function builtMethodNames(file: ts.SourceFile): string[] {
  const heads = nodesOf(file).filter((node) => ts.isTemplateHead(node))
  return heads.filter(({ text }) => FAMILIES.includes(text)).map((node) => `${placeOf(node)}: ${node.text}`)
}

export function revisionDates(file: ts.SourceFile): string[] {
  return literalsOf(file)
    .filter(({ text }) => REVISION_IDS.has(text))
    .map(({ node, text }) => `${placeOf(node)}: ${text}`)
}

/** Orderings of revisions, or of text that is called a revision or version. Needs the types. */
export function orderedRevisions(file: ts.SourceFile, checker: ts.TypeChecker): string[] {
  const isRevision = (node: ts.Expression): boolean => {
    const type = checker.getTypeAtLocation(node)
    const parts = type.isUnion() ? type.types : [type]
    if (parts.every((part) => part.isStringLiteral() && REVISION_IDS.has(part.value))) return true
    const isText = parts.every((part) => (part.flags & ts.TypeFlags.StringLike) !== 0)
    return isText && /revision|version|protocol/i.test(node.getText())
  }
  return nodesOf(file)
    .filter((node) => ts.isBinaryExpression(node))
    .filter(
      ({ operatorToken, left, right }) =>
        RELATIONAL.has(operatorToken.kind) && [left, right].some(isRevision),
    )
    .map((node) => `${placeOf(node)}: ${node.getText()}`)
}

/** Parameters and members that carry an era as a yes or no. Needs the types. */
export function eraFlags(file: ts.SourceFile, checker: ts.TypeChecker): string[] {
  return nodesOf(file)
    .filter((node) => ts.isParameter(node) || ts.isPropertySignature(node) || ts.isPropertyDeclaration(node))
    .filter((node) => /modern|legacy/i.test(node.name.getText()))
    .filter((node) => isBoolean(checker.getTypeAtLocation(node)))
    .map((node) => `${placeOf(node)}: ${node.name.getText()}`)
}

/** Notes of work to come, and of what was once otherwise. */
export function timeWords(file: ts.SourceFile): string[] {
  // Most files hold none of the words at all, and to find a file's comments costs more than to look for them.
  if (!saysTime(file.text)) return []
  return commentsOf(file)
    .filter(({ text }) => saysTime(text))
    .map(({ line, text }) => `${file.fileName}:${line}: ${text}`)
}

function saysTime(text: string): boolean {
  return /\b(TODO|FIXME|XXX)\b/.test(text) || /\b(no longer|used to|formerly|previously was)\b/i.test(text)
}

/** Lines that hold code, which is what the limit of a file's length counts. */
export function codeLines(file: ts.SourceFile): number {
  const lines = new Set<number>()
  for (const node of nodesOf(file)) {
    if (node.getChildCount() > 0 || node.getText() === '') continue
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) continue
    const first = file.getLineAndCharacterOfPosition(node.getStart()).line
    const last = file.getLineAndCharacterOfPosition(node.end).line
    for (let line = first; line <= last; line++) lines.add(line)
  }
  return lines.size
}

interface Literal {
  readonly node: ts.StringLiteralLike
  readonly text: string
}

function literalsOf(file: ts.SourceFile): Literal[] {
  return nodesOf(file)
    .filter((node) => ts.isStringLiteralLike(node))
    .map((node) => ({ node, text: node.text }))
}

function isKey(node: ts.Node): boolean {
  const { parent } = node
  return (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) && parent.name === node
}

function isBesideMethod(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isBinaryExpression(parent)) return [parent.left, parent.right].some(namesMethod)
  if (ts.isPropertyAssignment(parent)) return namesMethod(parent.name)
  if (ts.isVariableDeclaration(parent)) return namesMethod(parent.name)
  if (ts.isCaseClause(parent)) return namesMethod(parent.parent.parent.expression)
  return ts.isCallExpression(parent) && /method/i.test(parent.expression.getText())
}

function namesMethod(node: ts.Node): boolean {
  return /method$/i.test(node.getText())
}

function isBoolean(type: ts.Type): boolean {
  const parts = type.isUnion() ? type.types : [type]
  const defined = parts.filter((part) => (part.flags & ts.TypeFlags.Undefined) === 0)
  return defined.length > 0 && defined.every((part) => (part.flags & ts.TypeFlags.BooleanLike) !== 0)
}
