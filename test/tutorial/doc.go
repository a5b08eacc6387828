// Package tutorial runs the commands of docs/tutorial.md in the lab, as they stand there.
// It needs root, the build tag lab and a quarter of an hour: `make e2e-tutorial`.
package tutorial
