/** Which of a server's tools exist as far as callers are concerned. Patterns are names in which `*` stands for any text. */
export interface ToolFilter {
  readonly include: readonly string[] | undefined
  readonly exclude: readonly string[] | undefined
}

/** A predicate over native names. Without `include` everything is in; `exclude` has the last word. */
export function toolFilter(filter: ToolFilter): (name: string) => boolean {
  const include = filter.include?.map(pattern)
  const exclude = filter.exclude?.map(pattern) ?? []
  return (name) =>
    (include === undefined || include.some((one) => one.test(name))) && !exclude.some((one) => one.test(name))
}

function pattern(text: string): RegExp {
  const literal = text.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${literal.join('.*')}$`, 'su')
}
