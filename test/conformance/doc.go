// Package conformance runs the conformance tests of Kubernetes' network on real hosts, with deployer verify
// --conformance. Its tests need the tag lab and root.
package conformance
