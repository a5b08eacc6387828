// Package kube has the parts of benchmarks that run real programs of Kubernetes without hosts: the
// programs from the directory that `deployer artifacts build` fills, their processes, and a small
// client of the API server.
package kube
