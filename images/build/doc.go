// Package build makes every artifact of the catalogue without the publishers'
// servers: Kubernetes, etcd, containerd, CoreDNS and the CNI plugins from Go
// modules, the rest from Debian packages. The result is a directory source for
// sites without internet and for the lab.
//
// It keeps to the publishers' layout (archive members, image names, programs'
// places in images), so that whoever uses the artifacts sees no difference. A
// version that differs from the catalogue's, such as Debian's runc, is stated in
// the index.
//
// Each Go project is pinned by a go.mod and go.sum embedded under modules/; its
// `tool` lines are the programs to build. Every output has a key over all its
// inputs and is made again only when the key changes.
package build
