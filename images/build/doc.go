// Package build makes every artifact of the catalogue without the publishers' servers:
// Kubernetes, etcd, containerd, CoreDNS and the CNI plugins from Go modules, the others
// from Debian packages. The result is a directory source for sites without internet and
// for the lab.
//
// The outputs have the publishers' layout (archive members, image names, paths in
// images), so that they are interchangeable. The index states a version that differs
// from the catalogue's, such as that of Debian's runc.
//
// Each Go project is pinned by a go.mod and go.sum embedded under modules/; its `tool`
// lines are the programs to build. Every output has a key over all its inputs and is
// made again only when the key changes.
package build
