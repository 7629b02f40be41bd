// The sources of src as the compiler sees them.
import { join } from 'node:path'
import ts from 'typescript'
import { ROOT, sourcesOn } from './rooms.ts'

export interface Source {
  /** From the root, with slashes. */
  readonly path: string
  readonly file: ts.SourceFile
}

/** Parses every source file below a folder; nothing is resolved or checked. */
export function parseSources(folder: string): Source[] {
  return sourcesOn(ROOT, folder).map((path) => {
    const text = ts.sys.readFile(join(ROOT, path)) ?? ''
    return { path, file: parse(path, text) }
  })
}

export function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
}

/** Every node of a file, tokens included, in the order of the text. */
export function nodesOf(file: ts.SourceFile): readonly ts.Node[] {
  const known = NODES.get(file)
  if (known !== undefined) return known
  const nodes: ts.Node[] = []
  const collect = (node: ts.Node): void => {
    nodes.push(node)
    for (const child of node.getChildren(file)) collect(child)
  }
  collect(file)
  NODES.set(file, nodes)
  return nodes
}

const NODES = new WeakMap<ts.SourceFile, readonly ts.Node[]>()

/** `path:line` of a node. */
export function placeOf(node: ts.Node): string {
  const file = node.getSourceFile()
  return `${file.fileName}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
}

/** A file's comments with their lines, each once. */
export function commentsOf(file: ts.SourceFile): { readonly line: number; readonly text: string }[] {
  const ranges = new Map<number, number>()
  for (const node of nodesOf(file)) {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) continue
    for (const { pos, end } of ts.getLeadingCommentRanges(file.text, node.pos) ?? []) ranges.set(pos, end)
    for (const { pos, end } of ts.getTrailingCommentRanges(file.text, node.end) ?? []) ranges.set(pos, end)
  }
  return [...ranges]
    .sort(([a], [b]) => a - b)
    .map(([pos, end]) => ({
      line: file.getLineAndCharacterOfPosition(pos).line + 1,
      text: file.text.slice(pos, end),
    }))
}
