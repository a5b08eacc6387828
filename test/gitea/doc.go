// Package gitea deploys a cluster of the lab by pushes to a Gitea server, whose runner
// executes examples/ci/forgejo.yaml as it is. Server and runner are built from their Go
// modules. It needs root and the build tag lab: `make e2e-gitea`.
package gitea
