// Package lifecycle holds the scenarios of a cluster's life after its installation:
// the operations of an administrator, and failures, while clients use its API, its
// DNS and a Service (test/prober). They need root and the build tag lab: `make
// e2e-lifecycle`.
package lifecycle
