// Package mistakes tests what a mistake of an operator, or another program, does to a cluster
// that clients use: a wrong inventory is refused before anything changes, damage is healed, and
// what nobody can heal is named with its cause. Its tests need the tag lab and root.
package mistakes
