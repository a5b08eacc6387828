// Package airgap installs a cluster in the lab from one file, with a controller that
// has nothing else, promotes an image that the cluster has proved, and lets its nodes
// pull from a registry that requires a password, behind an HTTP proxy that requires
// one. The registry is distribution's; the proxy is this process, because it must
// know a name that no DNS server has. It needs root and the build tag lab: `make
// e2e-airgap`.
package airgap
