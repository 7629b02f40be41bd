// What the commands print: tables, and colour where a terminal reads them.
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Rows with their columns padded; the first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line, index) => (index === 0 ? styled('bold', line) : line))
    .join('\n')
}

/** Styled where stdout is a terminal that wants colour. */
export function styled(style: Style, text: string): string {
  const { NO_COLOR, TERM } = process.env
  const colour = process.stdout.isTTY && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb'
  return colour ? styleText(style, text) : text
}

/** Without what could steer a terminal: servers choose these texts. Lines stay lines. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\n]/gu, '?')
}

/** The text that a server sent where one was due. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined))
}

/** A time span for people: `5 s`, `3 min`, `2 h`, `4 d`. */
export function formatAge(ms: number): string {
  const steps = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const
  const [unit, size] = steps.find(([, length]) => ms >= length) ?? (['s', 1000] as const)
  return `${Math.floor(ms / size)} ${unit}`
}
