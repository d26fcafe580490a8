/**
 * A lane is "type domain", and "!type domain" for suspects. A domain has no space in it, a type may:
 * the last space divides them. Expressions over a column called `lane`.
 */
export const isSuspectLane = `starts_with(lane, '!')`
export const domainOfLane = `substring(lane from '[^ ]*$')`
export const typeOfLane = `substring(lane from '^!?(.*) [^ ]*$')`
