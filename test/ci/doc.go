// Package ci holds the scenarios of deployer ci on real hosts: a host of the lab has the bare
// repository with its hooks, and pushes over SSH deploy a staging and a production
// cluster. They need root and the build tag lab: `make e2e-ci`.
package ci
