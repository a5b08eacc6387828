// Package conformance runs the conformance tests of Kubernetes in a cluster: one pod with the tests,
// whose second container, the probe of the agent, gives out their report through the API server's
// proxy.
//
// [Run] does the requests; what the pod says is parsed by the pure rules of progress.go, log.go, junit.go,
// pod_state.go and verdict.go. All of that is a claim of the cluster: sizes are bounded and texts are clean.
package conformance
