// Package spread tests on real hosts that hosts send large blobs to each other. Its tests need the
// tag lab and root.
package spread
