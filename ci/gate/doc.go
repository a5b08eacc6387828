// Package gate has the rules that a push must keep before it reaches a cluster:
// [Check] takes a change with both of its revisions and returns a [Finding] for each
// rule that is broken, with the reason, the place in the configuration and what to
// do. A finding blocks or advises, as the environment's [Rules] say. The rules are
// pure; values that only a run knows (the time, the digest of a plan) are in their
// input.
package gate
