// Two recorded responses, byte for byte except for what is masked, and the places where they differ.
import { formatEnd } from './exchange-file.ts'
import type { End } from './exchange-file.ts'
import { differencesInBody } from './compare-body.ts'
import type { Difference } from './difference.ts'
import { fieldsOf } from './http-reader.ts'
import { masked } from './mask.ts'
import { headOf, readResponse } from './response.ts'
import type { Response } from './response.ts'
import type { Selector } from './selector.ts'

export interface Heard {
  readonly bytes: Buffer
  readonly end: End
}

export interface Comparison {
  readonly verb: string
  readonly masks: readonly Selector[]
  readonly chunks: Chunking
  /** `host:port` of the server that was recorded, and of the one that answered now. */
  readonly addresses: { readonly expected: string; readonly got: string }
  /** Called for each mask whose values differ: what would have been a difference. */
  hidden(selector: Selector): void
}

/** Whether chunked framing is compared too, or only what the chunks hold. */
export type Chunking = 'exact' | 'joined'

/** No difference means that every byte is the same, except for masked values and the lengths that follow from them. */
export function compare(expected: Heard, got: Heard, how: Comparison): Difference[] {
  const values = { expected: new Map<Selector, string>(), got: new Map<Selector, string>() }
  const side = (heard: Heard, which: 'expected' | 'got'): Response =>
    masked(readResponse(heard.bytes, how.verb), {
      selectors: how.masks,
      address: how.addresses[which],
      hidden: (selector, value) =>
        values[which].set(selector, `${values[which].get(selector) ?? ''}\n${value}`),
    })
  const [one, other] = [side(expected, 'expected'), side(got, 'got')]
  for (const selector of how.masks) {
    if (values.expected.get(selector) !== values.got.get(selector)) how.hidden(selector)
  }
  const bodyMasked = how.masks.some((selector) => selector.kind !== 'header' && values.expected.has(selector))
  return [
    ...differencesInHeads(one, other),
    ...differencesInBody(one, other).map(({ byte, ...rest }) =>
      bodyMasked || byte === undefined ? rest : { ...rest, byte },
    ),
    ...differencesInFraming(one, other, how.chunks),
    ...inText('end', formatEnd(expected.end), formatEnd(got.end)),
  ]
}

function differencesInHeads(expected: Response, got: Response): Difference[] {
  const interim = (response: Response): string => response.heads.slice(0, -1).flat().join('')
  const [one, other] = [headOf(expected), headOf(got)]
  const found = [
    ...inText('interim responses', interim(expected), interim(got)),
    ...inText('status line', one[0] ?? '', other[0] ?? ''),
    ...differencesInFields(one, other),
  ]
  // What is left are spaces, the case of names, and line ends.
  if (found.length > 0 || one.join('') === other.join('')) return found
  const index = one.findIndex((line, at) => line !== other[at])
  const lines = [one[index] ?? '', other[index] ?? ''] as const
  const name = fieldsOf(['', lines[0]])[0]?.name
  return inText(name === undefined ? `line ${index + 1} of the head` : `header ${name}`, ...lines)
}

function differencesInFields(expected: readonly string[], got: readonly string[]): Difference[] {
  const [one, other] = [fieldsOf(expected), fieldsOf(got)]
  const namesOf = (fields: typeof one): string[] => fields.map(({ name }) => name)
  const names = [...new Set([...namesOf(one), ...namesOf(other)])]
  const values = names.flatMap((name) => {
    const of = (fields: typeof one): string | null => {
      const lines = fields.filter((field) => field.name === name).map(({ value }) => value)
      return lines.length === 0 ? null : lines.join('\n')
    }
    return inText(`header ${name}`, of(one), of(other))
  })
  const shared = (fields: typeof one, others: typeof one): string =>
    namesOf(fields)
      .filter((name) => others.some((field) => field.name === name))
      .join(', ')
  return [...values, ...inText('order of headers', shared(one, other), shared(other, one))]
}

function differencesInFraming(expected: Response, got: Response, chunking: Chunking): Difference[] {
  const trailers = inText('trailers', expected.trailers.join(''), got.trailers.join(''))
  const isChunked = (response: Response): string => (response.chunks.length > 0 ? 'chunked' : 'whole')
  const sizes = ({ chunks }: Response): string =>
    chunks.map(({ line }) => JSON.stringify(line).slice(1, -1)).join(' ')
  const framing =
    chunking === 'exact'
      ? inText('chunks', sizes(expected), sizes(got))
      : inText('framing', isChunked(expected), isChunked(got))
  return [
    ...framing,
    ...trailers,
    ...inText('bytes outside the framing', expected.rest.toString('latin1'), got.rest.toString('latin1')),
  ]
}

function inText(at: string, expected: string | null, got: string | null): Difference[] {
  return expected === got ? [] : [{ at, expected, got }]
}
