const EXPRESSION = /\{[^{}]*\}/g

/**
 * A predicate: may this URI have come from that RFC 6570 template? Each expression stands for any text that is not empty, so
 * the answer may be yes too often, never too seldom; it only chooses a server, which then decides for itself.
 */
export function templateMatcher(template: string): (uri: string) => boolean {
  const literal = template
    .split(EXPRESSION)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  const whole = new RegExp(`^${literal.join('.+')}$`, 'su')
  return (uri) => uri === template || whole.test(uri)
}
