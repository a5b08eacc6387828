// Package e2e holds the scenarios that run against real hosts: systemd, sshd,
// etcd, containerd, kubelet, BIRD, nginx and HAProxy in the lab of test/lab.
// They need root and the build tag lab: `make e2e`.
package e2e
