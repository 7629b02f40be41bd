/** The text, cut to `length` characters with an ellipsis: for what a stranger sent and a message or log repeats. */
export function clip(text: string, length = 60): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}

/** The strings, each clipped, at most `count` of them, joined by commas. */
export function clipList(items: readonly string[], count = 20): string {
  const shown = items.slice(0, count).map((item) => clip(item))
  if (items.length > count) shown.push(`and ${items.length - count} more`)
  return shown.join(', ')
}

/** The known name nearest to a mistyped one, or undefined where none is close enough to be meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
